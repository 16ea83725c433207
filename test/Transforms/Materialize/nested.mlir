// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file | FileCheck %s

// p = exp, whose derivative needs its own output: twice forward, three times
// backward.
// CHECK-LABEL: func.func @p_of_a_nested_p_runs_three_times_in_the_backward(
// CHECK-COUNT-2: math.exp
// CHECK: remat.backward
// The inner region is recomputed without residuals, then p of it;
// CHECK: remat.region (%[[A:.*]] = %{{.*}} : f32) -> f32 attributes {remat.phase = "recompute"} {
// CHECK-NEXT: math.exp %[[A]] {remat.phase = "recompute"}
// CHECK: math.exp {{.*}} {remat.phase = "recompute"}
// the inner backward recomputes the inner p.
// CHECK: remat.backward (%[[I:.*]] = %{{.*}} : f32) cotangents(
// CHECK-NEXT: %[[B:.*]] = remat.barrier %[[I]] after
// CHECK-NEXT: math.exp %[[B]] {remat.phase = "recompute"}
// CHECK-NOT: math.exp
// CHECK: return
func.func @p_of_a_nested_p_runs_three_times_in_the_backward(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r:2 = remat.region (%a = %x : f32) -> f32 residuals(f32, f32) {
    %h, %hr = remat.region (%b = %a : f32) -> f32 residuals(f32) {
      %0 = math.exp %b : f32
      remat.yield %0 : f32 residuals(%0 : f32)
    }
    %1 = math.exp %h : f32
    remat.yield %1 : f32 residuals(%1, %hr : f32, f32)
  }
  %dx = remat.backward residuals(%e = %r#0 : f32, %hr = %r#1 : f32) cotangents(%dy = %ct : f32) -> f32 {
    %dh = arith.mulf %dy, %e : f32
    %0 = remat.backward residuals(%i = %hr : f32) cotangents(%di = %dh : f32) -> f32 {
      %1 = arith.mulf %i, %di : f32
      remat.yield %1 : f32
    }
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// CHECK-LABEL: func.func @the_inner_policy_saves_within_the_outer_backward(
// CHECK: remat.region (%{{.*}} = %{{.*}} : f32) -> f32 {
// CHECK: remat.backward
// CHECK: remat.region policy(#remat.everything_saveable) {{.*}} residuals(f32) attributes {remat.phase = "recompute"}
// CHECK-NEXT: math.exp
// CHECK-NEXT: remat.yield residuals
// CHECK: remat.backward
// CHECK-NOT: math.exp
// CHECK: return
func.func @the_inner_policy_saves_within_the_outer_backward(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %h, %hr = remat.region policy(#remat.everything_saveable) (%b = %a : f32) -> f32 residuals(f32) {
      %0 = math.exp %b : f32
      remat.yield %0 : f32 residuals(%0 : f32)
    }
    remat.yield %h : f32 residuals(%hr : f32)
  }
  %dx = remat.backward residuals(%hr = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = remat.backward residuals(%i = %hr : f32) cotangents(%di = %dy : f32) -> f32 {
      %1 = arith.mulf %i, %di : f32
      remat.yield %1 : f32
    }
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// Both policies permit the dot: it crosses both borders. Nothing else does, and
// nothing is recomputed but the tanh.
// CHECK-LABEL: func.func @what_both_policies_permit_crosses_both_borders(
// CHECK: remat.region policy(#remat.dots_saveable) {{.*}} -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
// CHECK: remat.region policy(#remat.dots_saveable) {{.*}} -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
// CHECK: remat.backward
// CHECK-NOT: linalg.matmul
// CHECK: remat.backward
// CHECK: math.tanh
// CHECK-NOT: linalg.matmul
// CHECK: return
func.func @what_both_policies_permit_crosses_both_borders(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %ct: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %y, %r = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>) -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
    %h, %hr = remat.region policy(#remat.dots_saveable) (%c = %a : tensor<4x4xf32>, %d = %b : tensor<4x4xf32>) -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
      %e = tensor.empty() : tensor<4x4xf32>
      %z = arith.constant 0.0 : f32
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
      %0 = linalg.matmul ins(%c, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
      %1 = math.tanh %0 : tensor<4x4xf32>
      remat.yield %1 : tensor<4x4xf32> residuals(%1 : tensor<4x4xf32>)
    }
    remat.yield %h : tensor<4x4xf32> residuals(%hr : tensor<4x4xf32>)
  }
  %dx = remat.backward residuals(%hr = %r : tensor<4x4xf32>) cotangents(%dy = %ct : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = remat.backward residuals(%i = %hr : tensor<4x4xf32>) cotangents(%di = %dy : tensor<4x4xf32>) -> tensor<4x4xf32> {
      %1 = arith.mulf %i, %di : tensor<4x4xf32>
      remat.yield %1 : tensor<4x4xf32>
    }
    remat.yield %0 : tensor<4x4xf32>
  }
  return %y, %dx : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// An outer region that may save everything is as good as none.
// CHECK-LABEL: func.func @an_outer_region_does_not_overrule_the_inner_policy(
// CHECK: remat.region policy(#remat.everything_saveable) {{.*}} -> f32 residuals(f32) {
// CHECK: %[[G:.*]] = math.sin
// CHECK: remat.yield %{{.*}} : f32 residuals(%[[G]] : f32)
// CHECK: remat.backward
// CHECK-NOT: math
// CHECK: remat.backward
// CHECK: math.exp
// CHECK-NOT: math
// CHECK: return
func.func @an_outer_region_does_not_overrule_the_inner_policy(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region policy(#remat.everything_saveable) (%a = %x : f32) -> f32 residuals(f32) {
    %g = math.sin %a : f32
    %h, %hr = remat.region (%b = %g : f32) -> f32 residuals(f32) {
      %0 = math.exp %b : f32
      remat.yield %0 : f32 residuals(%0 : f32)
    }
    remat.yield %h : f32 residuals(%hr : f32)
  }
  %dx = remat.backward residuals(%hr = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = remat.backward residuals(%i = %hr : f32) cotangents(%di = %dy : f32) -> f32 {
      %1 = arith.mulf %i, %di : f32
      remat.yield %1 : f32
    }
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}
