// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file | FileCheck %s

// A layer that is called twice: its region's residual crosses as a result of the
// forward function and an argument of the backward function. The recompute needs
// the layer's argument instead.
// CHECK-LABEL: func.func private @layer_fwd(
// CHECK-SAME: f32) -> f32
// CHECK: remat.region {{.*}} -> f32 {
// CHECK-LABEL: func.func private @layer_bwd(
// CHECK-SAME: %[[CT:[a-z0-9]+]]: f32, %[[X:[a-z0-9]+]]: f32) -> f32
// CHECK: remat.backward
// CHECK: %[[B:.*]] = remat.barrier
// CHECK: math.exp %[[B]] {remat.phase = "recompute"}
// CHECK-LABEL: func.func @two_layers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[CT:[a-z0-9]+]]: f32)
// CHECK: %[[H:.*]] = call @layer_fwd(%[[X]]) : (f32) -> f32
// CHECK: %[[Y:.*]] = call @layer_fwd(%[[H]]) : (f32) -> f32
// CHECK: %[[D:.*]] = call @layer_bwd(%[[CT]], %[[H]])
// CHECK: call @layer_bwd(%[[D]], %[[X]])
func.func private @layer_fwd(%x: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    %1 = math.sin %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}
func.func private @layer_bwd(%r: f32, %ct: f32) -> f32 {
  %dx = remat.backward residuals(%e = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = math.cos %e : f32
    %1 = arith.mulf %0, %e : f32
    %2 = arith.mulf %1, %dy : f32
    remat.yield %2 : f32
  }
  return %dx : f32
}
func.func @two_layers(%x: f32, %ct: f32) -> (f32, f32) {
  %h:2 = call @layer_fwd(%x) : (f32) -> (f32, f32)
  %y:2 = call @layer_fwd(%h#0) : (f32) -> (f32, f32)
  %dh = call @layer_bwd(%y#1, %ct) : (f32, f32) -> f32
  %dx = call @layer_bwd(%h#1, %dh) : (f32, f32) -> f32
  return %y#0, %dx : f32, f32
}

// -----

// A value inside the forward function crosses as a new result.
// CHECK-LABEL: func.func private @fwd(
// CHECK-SAME: f32) -> (f32, f32)
// CHECK: %[[G:.*]] = math.tanh
// CHECK: return %{{.*}}, %[[G]]
// CHECK-LABEL: func.func private @bwd(
// CHECK-LABEL: func.func @caller(
// CHECK: %[[F:.*]]:2 = call @fwd
// CHECK: call @bwd(%{{.*}}, %[[F]]#1)
func.func private @fwd(%x: f32) -> (f32, f32) {
  %g = math.tanh %x : f32
  %y, %r = remat.region (%a = %g : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}
func.func private @bwd(%r: f32, %ct: f32) -> f32 {
  %dx = remat.backward residuals(%e = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %e, %dy : f32
    remat.yield %0 : f32
  }
  return %dx : f32
}
func.func @caller(%x: f32, %ct: f32) -> (f32, f32) {
  %y:2 = call @fwd(%x) : (f32) -> (f32, f32)
  %dx = call @bwd(%y#1, %ct) : (f32, f32) -> f32
  return %y#0, %dx : f32, f32
}

// -----

// The calls stand in a region, and the forward call is recomputed: inside, its
// region's recompute starts from a result of that call.
// CHECK-LABEL: func.func @calls_in_a_region(
// CHECK: remat.region {{.*}} -> f32 {
// CHECK: remat.backward
// CHECK: call @fwd({{.*}}) {remat.phase = "recompute"} : (f32) -> (f32, f32)
// CHECK: call @bwd
// CHECK: return
func.func private @fwd(%x: f32) -> (f32, f32) {
  %g = math.tanh %x : f32
  %y, %r = remat.region (%a = %g : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}
func.func private @bwd(%r: f32, %ct: f32) -> f32 {
  %dx = remat.backward residuals(%e = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %e, %dy : f32
    remat.yield %0 : f32
  }
  return %dx : f32
}
func.func @calls_in_a_region(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %h:2 = func.call @fwd(%a) : (f32) -> (f32, f32)
    remat.yield %h#0 : f32 residuals(%h#1 : f32)
  }
  %dx = remat.backward residuals(%e = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = func.call @bwd(%e, %dy) : (f32, f32) -> f32
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// The results of a public function are part of its interface.
// CHECK-LABEL: func.func @public_fwd(
// CHECK-SAME: f32) -> (f32, f32)
// CHECK: residuals
// CHECK-NOT: recompute
func.func @public_fwd(%x: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}
func.func private @bwd(%r: f32, %ct: f32) -> f32 {
  %dx = remat.backward residuals(%e = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %e, %dy : f32
    remat.yield %0 : f32
  }
  return %dx : f32
}
func.func @caller(%x: f32, %ct: f32) -> (f32, f32) {
  %y:2 = call @public_fwd(%x) : (f32) -> (f32, f32)
  %dx = call @bwd(%y#1, %ct) : (f32, f32) -> f32
  return %y#0, %dx : f32, f32
}
