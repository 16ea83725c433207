// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sin_of_sin_holds_one_sin_and_two_cos(
// CHECK: remat.region (%[[A:.*]] = %{{.*}} : f32) -> f32 {
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sin
// CHECK-NEXT: remat.yield %{{.*}} : f32
// CHECK: remat.backward (%[[X:.*]] = %{{.*}} : f32) cotangents(%[[DY:.*]] = %{{.*}} : f32) -> f32 {
// CHECK-NEXT: %[[B:.*]] = remat.barrier %[[X]] after %[[DY]] {remat.phase = "recompute"} : f32 after f32
// CHECK-NEXT: %[[S:.*]] = math.sin %[[B]] {remat.phase = "recompute"} : f32
// CHECK-NEXT: math.cos %[[S]] : f32
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.cos %[[X]] : f32
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: remat.yield
func.func @sin_of_sin_holds_one_sin_and_two_cos(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.sin %a : f32
    %1 = math.sin %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward (%a = %x : f32) residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = math.cos %s : f32
    %1 = arith.mulf %dy, %0 : f32
    %2 = math.cos %a : f32
    %3 = arith.mulf %1, %2 : f32
    remat.yield %3 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// The backward may not have had the operand that a recompute starts from.
// CHECK-LABEL: func.func @operands_enter_the_backward_when_they_are_needed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK: remat.backward (%[[A:.*]] = %[[X]] : f32) cotangents(%[[DY:.*]] = %{{.*}} : f32) -> f32 {
// CHECK-NEXT: %[[B:.*]] = remat.barrier %[[A]] after %[[DY]]
// CHECK-NEXT: math.exp %[[B]] {remat.phase = "recompute"}
func.func @operands_enter_the_backward_when_they_are_needed(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// CHECK-LABEL: func.func @everything_saveable_recomputes_nothing(
// CHECK: remat.region {{.*}} -> f32 residuals(f32)
// CHECK: remat.backward
// CHECK-NOT: recompute
// CHECK: return
func.func @everything_saveable_recomputes_nothing(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region policy(#remat.everything_saveable) (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.sin %a : f32
    %1 = math.sin %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward (%a = %x : f32) residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = math.cos %s : f32
    %1 = arith.mulf %dy, %0 : f32
    %2 = math.cos %a : f32
    %3 = arith.mulf %1, %2 : f32
    remat.yield %3 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// Three times `dot; sin`: the dots are saved, the sines are not; the saved
// values are read raw by the adjoint and through the barrier by the recompute.
// CHECK-LABEL: func.func @dots_saveable_saves_dots_and_recomputes_sines(
// CHECK: remat.region {{.*}} -> tensor<4x4xf32> residuals(tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK: remat.yield %{{.*}} : tensor<4x4xf32> residuals(%[[D2:.*]], %[[D0:.*]], %[[D1:.*]] :
// CHECK: remat.backward
// CHECK: remat.barrier %{{.*}}, %{{.*}} after
// CHECK-COUNT-2: math.sin {{.*}} {remat.phase = "recompute"}
// CHECK-NOT: math.sin {{.*}}recompute
// CHECK-NOT: linalg.matmul {{.*}}recompute
// CHECK: return
func.func @dots_saveable_saves_dots_and_recomputes_sines(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %ct: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %y, %r:3 = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>)
      -> tensor<4x4xf32> residuals(tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
    %e = tensor.empty() : tensor<4x4xf32>
    %z = arith.constant 0.0 : f32
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %d0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
    %s0 = math.sin %d0 : tensor<4x4xf32>
    %d1 = linalg.matmul ins(%s0, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
    %s1 = math.sin %d1 : tensor<4x4xf32>
    %d2 = linalg.matmul ins(%s1, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
    %s2 = math.sin %d2 : tensor<4x4xf32>
    remat.yield %s2 : tensor<4x4xf32> residuals(%d2, %s1, %s0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
  }
  %dw = remat.backward residuals(%d2 = %r#0 : tensor<4x4xf32>, %s1 = %r#1 : tensor<4x4xf32>, %s0 = %r#2 : tensor<4x4xf32>) cotangents(%dy = %ct : tensor<4x4xf32>)
      -> tensor<4x4xf32> {
    %0 = arith.mulf %dy, %d2 : tensor<4x4xf32>
    %1 = arith.mulf %0, %s1 : tensor<4x4xf32>
    %2 = arith.mulf %1, %s0 : tensor<4x4xf32>
    remat.yield %2 : tensor<4x4xf32>
  }
  return %y, %dw : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Every operation stands in front of its first reader; inputs pass one barrier.
// CHECK-LABEL: func.func @clones_are_as_late_as_possible(
// CHECK: remat.backward
// CHECK-NEXT: %[[M:.*]] = arith.negf
// CHECK-NEXT: %[[B:.*]] = remat.barrier
// CHECK-NEXT: %[[S:.*]] = math.sin %[[B]] {remat.phase = "recompute"}
// CHECK-NEXT: arith.mulf %[[M]], %[[S]]
// CHECK-NEXT: %[[C:.*]] = math.exp %[[S]] {remat.phase = "recompute"}
// CHECK-NEXT: arith.mulf %{{.*}}, %[[C]]
// CHECK-NEXT: remat.yield
func.func @clones_are_as_late_as_possible(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r:2 = remat.region (%a = %x : f32) -> f32 residuals(f32, f32) {
    %0 = math.sin %a : f32
    %1 = math.exp %0 : f32
    %2 = math.cos %1 : f32
    remat.yield %2 : f32 residuals(%1, %0 : f32, f32)
  }
  %dx = remat.backward residuals(%e = %r#0 : f32, %s = %r#1 : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.negf %dy : f32
    %1 = arith.mulf %0, %s : f32
    %2 = arith.mulf %1, %e : f32
    remat.yield %2 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// CHECK-LABEL: func.func @dead_outputs_and_unread_residuals_cost_nothing(
// CHECK: %[[Y:.*]] = remat.region (%{{.*}} = %{{.*}} : f32) -> f32 {
// CHECK-NEXT: math.sin
// CHECK-NEXT: remat.yield
// CHECK: remat.backward (%[[A:.*]] = %{{.*}} : f32) cotangents(%{{.*}} = %{{.*}} : f32)
// CHECK-NEXT: math.cos %[[A]]
// CHECK-NOT: recompute
// CHECK: return
func.func @dead_outputs_and_unread_residuals_cost_nothing(%x: f32, %z: f32, %ct: f32) -> (f32, f32) {
  %y:2, %r:2 = remat.region (%a = %x : f32, %b = %z : f32) -> f32, f32 residuals(f32, f32) {
    %0 = math.sin %a : f32
    %1 = math.exp %b : f32
    %2 = math.exp %1 : f32
    remat.yield %0, %2 : f32, f32 residuals(%1, %a : f32, f32)
  }
  %dx = remat.backward residuals(%e = %r#0 : f32, %a = %r#1 : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = math.cos %a : f32
    %dead = math.cos %e : f32
    %1 = arith.mulf %0, %dy : f32
    remat.yield %1 : f32
  }
  return %y#0, %dx : f32, f32
}

// -----

// CHECK-LABEL: func.func @prevent_cse_is_per_operand(
// CHECK: remat.backward (%[[A:.*]] = %{{.*}} : f32, %[[B:.*]] = %{{.*}} : f32) cotangents(%[[DY:.*]] = %{{.*}} : f32)
// CHECK: %[[G:.*]] = remat.barrier %[[A]] after %[[DY]] {{.*}} : f32 after f32
// CHECK: arith.mulf %[[G]], %[[B]] {remat.phase = "recompute"}
func.func @prevent_cse_is_per_operand(%x: f32, %z: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32, %b = %z : f32) -> f32 residuals(f32) attributes {prevent_cse = array<i1: true, false>} {
    %0 = arith.mulf %a, %b : f32
    %1 = math.exp %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward (%a = %x : f32, %b = %z : f32) residuals(%m = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %m, %dy : f32
    %1 = arith.mulf %0, %a : f32
    %2 = arith.mulf %1, %b : f32
    remat.yield %2 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// A fill depends on no operand: a barrier on its buffer keeps it apart.
// CHECK-LABEL: func.func @operations_on_constants_are_guarded(
// CHECK: remat.backward
// CHECK-DAG: %[[E:.*]] = tensor.empty() {remat.phase = "recompute"}
// CHECK-DAG: %[[Z:.*]] = arith.constant
// CHECK: %[[G:.*]] = remat.barrier %[[E]] after
// CHECK: linalg.fill {remat.phase = "recompute"} ins(%[[Z]] : f32) outs(%[[G]]
func.func @operations_on_constants_are_guarded(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
    %z = arith.constant 2.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %0 = arith.mulf %a, %f : tensor<4xf32>
    %1 = math.exp %0 : tensor<4xf32>
    remat.yield %1 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
  }
  %dx = remat.backward residuals(%m = %r : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %m, %dy : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @a_recompute_waits_for_a_cotangent_that_is_not_read(
// CHECK: remat.backward (%[[X:.*]] = %{{.*}} : f32) cotangents(%[[DY:.*]] = %{{.*}} : f32)
// CHECK-NEXT: remat.barrier %[[X]] after %[[DY]] {remat.phase = "recompute"} : f32 after f32
// CHECK-NEXT: math.exp
func.func @a_recompute_waits_for_a_cotangent_that_is_not_read(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.negf %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// A mask is never saved, even where the policy permits it: its state is.
// CHECK-LABEL: func.func @draws_are_replayed_from_their_state(
// CHECK: remat.region {{.*}} -> tensor<4xf32>, !remat.rng {
// CHECK: remat.backward (%[[S:.*]] = %{{.*}} : !remat.rng) cotangents(%[[DY:.*]] = %{{.*}} : tensor<4xf32>)
// CHECK: %[[B:.*]] = remat.barrier %[[S]] after %[[DY]] {{.*}} : !remat.rng after tensor<4xf32>
// CHECK-NEXT: remat.random_bernoulli %[[B]] {p = 9.000000e-01 : f64, remat.phase = "recompute"}
func.func @draws_are_replayed_from_their_state(%x: tensor<4xf32>, %s: !remat.rng, %ct: tensor<4xf32>) -> (tensor<4xf32>, !remat.rng, tensor<4xf32>) {
  %y:2, %r = remat.region policy(#remat.everything_saveable) (%a = %x : tensor<4xf32>, %b = %s : !remat.rng)
      -> tensor<4xf32>, !remat.rng residuals(tensor<4xi1>) {
    %z = arith.constant dense<0.0> : tensor<4xf32>
    %m, %n = remat.random_bernoulli %b {p = 0.9 : f64} : tensor<4xi1>
    %0 = arith.select %m, %a, %z : tensor<4xi1>, tensor<4xf32>
    remat.yield %0, %n : tensor<4xf32>, !remat.rng residuals(%m : tensor<4xi1>)
  }
  %dx = remat.backward residuals(%m = %r : tensor<4xi1>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %z = arith.constant dense<0.0> : tensor<4xf32>
    %0 = arith.select %m, %dy, %z : tensor<4xi1>, tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y#0, %y#1, %dx : tensor<4xf32>, !remat.rng, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @functions_without_regions_stay_as_they_are(
// CHECK-NEXT: math.sin
// CHECK-NEXT: return
func.func @functions_without_regions_stay_as_they_are(%x: f32) -> f32 {
  %dead = math.sin %x : f32
  return %x : f32
}

// -----

// An output that a backward reads is a residual of its region like any other.
// CHECK-LABEL: func.func @an_output_that_the_backward_reads_is_recomputed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK: remat.backward (%[[A:.*]] = %[[X]] : f32) cotangents(%[[DY:.*]] = %{{.*}} : f32)
// CHECK-NEXT: %[[B:.*]] = remat.barrier %[[A]] after %[[DY]]
// CHECK-NEXT: math.exp %[[B]] {remat.phase = "recompute"}
func.func @an_output_that_the_backward_reads_is_recomputed(%x: f32, %ct: f32) -> (f32, f32) {
  %y = remat.region (%a = %x : f32) -> f32 {
    %0 = math.exp %a : f32
    remat.yield %0 : f32
  }
  %dx = remat.backward residuals(%s = %y : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %dy, %s : f32
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// The operand of a region is the output of another one: no business of the
// other one's policy.
// CHECK-LABEL: func.func @an_output_that_is_an_operand_stays(
// CHECK: %[[Y:.*]] = remat.region
// CHECK: remat.backward (%{{.*}} = %[[Y]] : f32) cotangents
// CHECK-NOT: math.exp
// CHECK: remat.backward (%{{.*}} = %{{.*}} : f32) cotangents
// CHECK: math.exp {{.*}}recompute
func.func @an_output_that_is_an_operand_stays(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %z = remat.region (%a = %y : f32) -> f32 {
    %0 = math.sin %a : f32
    remat.yield %0 : f32
  }
  %dy = remat.backward (%a = %y : f32) cotangents(%dz = %ct : f32) -> f32 {
    %0 = math.cos %a : f32
    %1 = arith.mulf %dz, %0 : f32
    remat.yield %1 : f32
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%d = %dy : f32) -> f32 {
    %0 = arith.mulf %d, %s : f32
    remat.yield %0 : f32
  }
  return %z, %dx : f32, f32
}
