// RUN: remat-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @unused_operands_and_dead_results_go(
// CHECK: remat.region (%[[A:.*]] = %{{.*}} : f32) -> f32 attributes {prevent_cse = array<i1: false>} {
// CHECK-NEXT: %[[S:.*]] = math.sin %[[A]] : f32
// CHECK-NEXT: remat.yield %[[S]] : f32
func.func @unused_operands_and_dead_results_go(%x: f32, %y: f32) -> f32 {
  %r:2 = remat.region (%a = %y : f32, %b = %x : f32) -> f32, f32 attributes {prevent_cse = array<i1: true, false>} {
    %0 = math.sin %b : f32
    %1 = math.cos %a : f32
    remat.yield %0, %1 : f32, f32
  }
  return %r#0 : f32
}

// CHECK-LABEL: func.func @a_value_passed_twice_is_passed_once(
// CHECK: remat.region (%[[A:.*]] = %{{.*}} : f32) -> f32 {
// CHECK-NEXT: arith.mulf %[[A]], %[[A]]
func.func @a_value_passed_twice_is_passed_once(%x: f32) -> f32 {
  %r = remat.region (%a = %x : f32, %b = %x : f32) -> f32 {
    %0 = arith.mulf %a, %b : f32
    remat.yield %0 : f32
  }
  return %r : f32
}

// CHECK-LABEL: func.func @a_result_that_passes_an_operand_through_is_the_operand(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK: %[[R:.*]] = remat.backward
// CHECK: return %[[X]], %[[R]], %[[R]]
func.func @a_result_that_passes_an_operand_through_is_the_operand(%x: f32) -> (f32, f32, f32) {
  %r:3 = remat.backward (%a = %x : f32) cotangents(%b = %x : f32) -> f32, f32, f32 {
    %0 = math.sin %a : f32
    remat.yield %a, %0, %0 : f32, f32, f32
  }
  return %r#0, %r#1, %r#2 : f32, f32, f32
}

// CHECK-LABEL: func.func @a_barrier_passes_what_is_read_and_once(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[Y:[a-z0-9]+]]: f32, %[[CT:[a-z0-9]+]]: f32
// CHECK: %[[B:.*]] = remat.barrier %[[X]] after %[[CT]] {remat.phase = "recompute"} : f32 after f32
// CHECK: arith.mulf %[[B]], %[[B]]
func.func @a_barrier_passes_what_is_read_and_once(%x: f32, %y: f32, %ct: f32) -> f32 {
  %b:3 = remat.barrier %x, %y, %x after %ct, %ct {remat.phase = "recompute"} : f32, f32, f32 after f32, f32
  %0 = arith.mulf %b#0, %b#2 : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @constants_do_not_fold_through_a_barrier(
// CHECK: remat.barrier %{{.*}} : f32
// CHECK-NEXT: arith.addf
func.func @constants_do_not_fold_through_a_barrier() -> f32 {
  %c = arith.constant 1.0 : f32
  %b = remat.barrier %c : f32
  %0 = arith.addf %b, %c : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @a_tape_read_right_after_its_write_is_the_value(
// CHECK-SAME: %[[V:[a-z0-9]+]]: f32
// CHECK: %[[OTHER:.*]] = remat.tape_read
// CHECK: return %[[V]], %[[OTHER]]
func.func @a_tape_read_right_after_its_write_is_the_value(%v: f32, %t: tensor<3xf32>, %i: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %t1 = remat.tape_write %v into %t[%c0] : f32 into tensor<3xf32>
  %0 = remat.tape_read %t1[%c0] : tensor<3xf32> -> f32
  %1 = remat.tape_read %t1[%i] : tensor<3xf32> -> f32
  return %0, %1 : f32, f32
}

// Of 100 iterations and 3 snapshots, the second one is before iteration 64; the state before the last iteration has a slot of its own.
// Iterations that there are not have no snapshots.
// CHECK-LABEL: func.func @snapshots_of_known_numbers(
// CHECK-DAG: %[[SLOT:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[NEXT:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[LAST:.*]] = arith.constant 99 : index
// CHECK: %[[FROM:.*]], %[[AT:.*]] = remat.last_snapshot
// CHECK: return %[[NEXT]], %[[LAST]], %[[SLOT]], %[[FROM]]
func.func @snapshots_of_known_numbers() -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c99 = arith.constant 99 : index
  %c100 = arith.constant 100 : index
  %0 = remat.next_snapshot from %c0 to %c100 free %c2
  %1, %2 = remat.last_snapshot before %c99 of %c100 slots %c3
  %3, %4 = remat.last_snapshot before %c100 of %c100 slots %c3
  return %0, %1, %2, %3 : index, index, index, index
}

// A backward is known by the residuals that it reads.
// CHECK-LABEL: func.func @an_output_and_a_residual_stay_two(
// CHECK: %[[Y:.*]], %[[R:.*]] = remat.region
// CHECK: return %[[Y]], %[[R]]
func.func @an_output_and_a_residual_stay_two(%x: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.sin %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}

// CHECK-LABEL: func.func @a_residual_that_passes_an_operand_through_stays_one(
// CHECK: %[[Y:.*]], %[[R:.*]] = remat.region
// CHECK: return %[[Y]], %[[R]]
func.func @a_residual_that_passes_an_operand_through_stays_one(%x: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.sin %a : f32
    remat.yield %0 : f32 residuals(%a : f32)
  }
  return %y, %r : f32, f32
}

// A recompute waits for a cotangent.
// CHECK-LABEL: func.func @operands_of_a_backward_go_but_for_one_cotangent(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[CT:[a-z0-9]+]]: f32
// CHECK: remat.backward residuals(%[[A:.*]] = %[[X]] : f32) cotangents(%{{.*}} = %[[CT]] : f32) -> f32 {
// CHECK-NEXT: math.sin %[[A]]
func.func @operands_of_a_backward_go_but_for_one_cotangent(%x: f32, %ct: f32) -> f32 {
  %r = remat.backward (%a = %x : f32) residuals(%b = %x : f32) cotangents(%c = %ct : f32, %d = %x : f32) sums(%e = %x : f32) -> f32 {
    %0 = math.sin %b : f32
    remat.yield %0 : f32
  }
  return %r : f32
}

// A value that is a residual and a cotangent is passed as both.
// CHECK-LABEL: func.func @groups_of_operands_are_kept_apart(
// CHECK: remat.backward residuals(%[[A:.*]] = %[[X:.*]] : f32) cotangents(%[[B:.*]] = %[[X]] : f32) -> f32 {
// CHECK-NEXT: arith.mulf %[[A]], %[[B]]
func.func @groups_of_operands_are_kept_apart(%x: f32) -> f32 {
  %r = remat.backward residuals(%a = %x : f32) cotangents(%b = %x : f32, %c = %x : f32) -> f32 {
    %0 = arith.mulf %a, %c : f32
    remat.yield %0 : f32
  }
  return %r : f32
}

// A sum that is read but whose result is dead becomes a cotangent.
// CHECK-LABEL: func.func @a_sum_whose_result_is_dead_is_none(
// CHECK-SAME: %[[CT:[a-z0-9]+]]: f64, %[[SUM:[a-z0-9]+]]: f32
// CHECK: remat.backward cotangents(%[[C:.*]] = %[[CT]] : f64, %[[S:.*]] = %[[SUM]] : f32) -> f64 {
// CHECK: call @print(%[[S]])
func.func private @print(f32)
func.func @a_sum_whose_result_is_dead_is_none(%ct: f64, %sum: f32) -> f64 {
  %r:2 = remat.backward cotangents(%c = %ct : f64) sums(%s = %sum : f32) -> f64, f32 {
    func.call @print(%s) : (f32) -> ()
    %0 = math.sin %c : f64
    %1 = math.sin %s : f32
    remat.yield %0, %1 : f64, f32
  }
  return %r#0 : f64
}

// CHECK-LABEL: func.func @what_nothing_reads_is_not_saved(
// CHECK: math.sin
// CHECK-NEXT: remat.saved
// CHECK-NEXT: return
func.func @what_nothing_reads_is_not_saved(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  remat.saved %0 : f32 #remat.decision<save by "me" because "so">
  %1 = math.cos %x : f32
  remat.saved %1 : f32 #remat.decision<save by "me" because "so">
  return %0 : f32
}
