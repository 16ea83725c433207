// RUN: remat-opt %s -remat-plan -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-plan -canonicalize -cse -sccp -loop-invariant-code-motion -remat-plan -split-input-file | FileCheck %s

// One decision for each residual: a value that may not be saved is recomputed
// from the region's operand, which becomes an operand of the backward.
// CHECK-LABEL: func.func @what_the_policy_forbids_is_recomputed_from_operands(
// CHECK: remat.region ({{.*}}) -> f32 residuals(f32) {
// CHECK: remat.backward (%[[A:[a-z0-9]+]] = %arg0 : f32) residuals(%[[S:[a-z0-9]+]] = %residuals : f32) cotangents({{.*}}) -> f32 {
// CHECK-NEXT: %[[P:.*]] = remat.plan %[[S]] from %[[A]] : f32 from f32 [#remat.decision<recompute by "#remat.nothing_saveable" because "not permitted">]
// CHECK-NEXT: arith.mulf %{{.*}}, %[[P]]
func.func @what_the_policy_forbids_is_recomputed_from_operands(%x: f32, %ct: f32) -> (f32, f32) {
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

// A value that the backward does not read itself is saved where a recompute
// starts from it, and not what lies before it.
// CHECK-LABEL: func.func @a_recompute_starts_from_what_may_be_saved(
// CHECK: remat.region {{.*}} residuals(f32, f32) {
// CHECK: remat.plan %[[E:.*]], %[[N:.*]] from %[[N]] : f32, f32 from f32
// CHECK-SAME: #remat.decision<recompute by "#remat.save_only_names<\22n\22>" because "not permitted">
// CHECK-SAME: #remat.decision<save_named by "#remat.save_only_names<\22n\22>" because "named by the policy">
func.func @a_recompute_starts_from_what_may_be_saved(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region policy(#remat.save_only_names<"n">) (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.sin %a : f32
    %n = remat.name "n" %0 : f32
    %1 = math.exp %n : f32
    remat.yield %1 : f32 residuals(%1 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// A policy that needs a name, whichever it is, saves what is named by the name, also as one of several.
// CHECK-LABEL: func.func @any_name_is_named_by_the_policy(
// CHECK: #remat.decision<save by "#remat.save_anything_except_names<\22other\22>" because "permitted">
// CHECK: #remat.decision<save_named by "#remat.any_of<#remat.dots_saveable, #remat.save_any_names_but<\22other\22>>" because "named by the policy">
// CHECK: #remat.decision<save_named by "#remat.save_any_names_but<\22other\22>" because "named by the policy">
func.func @any_name_is_named_by_the_policy(%x: f32, %ct: f32) -> (f32, f32, f32) {
  %y, %r = remat.region policy(#remat.save_any_names_but<"other">) (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    %n = remat.name "n" %0 : f32
    remat.yield %n : f32 residuals(%n : f32)
  }
  %z, %q = remat.region policy(#remat.any_of<#remat.dots_saveable, #remat.save_any_names_but<"other">>) (%a = %y : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    %n = remat.name "n" %0 : f32
    remat.yield %n : f32 residuals(%n : f32)
  }
  %w, %p = remat.region policy(#remat.save_anything_except_names<"other">) (%a = %z : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    %n = remat.name "n" %0 : f32
    remat.yield %n : f32 residuals(%n : f32)
  }
  %dz = remat.backward residuals(%s = %p : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  %dy = remat.backward residuals(%s = %q : f32) cotangents(%dy = %dz : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%d = %dy : f32) -> f32 {
    %1 = arith.mulf %d, %s : f32
    remat.yield %1 : f32
  }
  return %y, %w, %dx : f32, f32, f32
}

// -----

// A value that costs nothing to recompute is not saved, whatever the policy permits.
// CHECK-LABEL: func.func @what_costs_nothing_is_rebuilt(
// CHECK: #remat.decision<rebuild by "#remat.everything_saveable" because "costs nothing">
func.func @what_costs_nothing_is_rebuilt(%x: tensor<2x4xf32>, %ct: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y, %r = remat.region policy(#remat.everything_saveable) (%a = %x : tensor<2x4xf32>) -> tensor<8xf32> residuals(tensor<8xf32>) {
    %v = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
    %0 = math.exp %v : tensor<8xf32>
    remat.yield %0 : tensor<8xf32> residuals(%v : tensor<8xf32>)
  }
  %dx = remat.backward residuals(%v = %r : tensor<8xf32>) cotangents(%dy = %ct : tensor<8xf32>) -> tensor<8xf32> {
    %1 = arith.mulf %dy, %v : tensor<8xf32>
    remat.yield %1 : tensor<8xf32>
  }
  return %y, %dx : tensor<8xf32>, tensor<8xf32>
}

// -----

// Both regions decide, each for its border: the inner backward computes %0
// again from %h, which the outer one in turn recomputes.
// CHECK-LABEL: func.func @what_an_inner_recompute_starts_from_is_decided_around_it(
// CHECK: remat.backward
// CHECK-NEXT: remat.plan {{.*}}recompute by "#remat.nothing_saveable"
// CHECK: remat.backward
// CHECK-NEXT: remat.plan {{.*}}recompute by "#remat.nothing_saveable"
func.func @what_an_inner_recompute_starts_from_is_decided_around_it(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %h = math.sin %a : f32
    %i, %ir = remat.region (%b = %h : f32) -> f32 residuals(f32) {
      %0 = math.exp %b : f32
      remat.yield %0 : f32 residuals(%0 : f32)
    }
    remat.yield %i : f32 residuals(%ir : f32)
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

// The backward of the second region reads its operand, so that %h is available:
// no product is recomputed for it.
// CHECK-LABEL: func.func @an_output_that_the_next_region_keeps_is_not_recomputed(
// CHECK: #remat.decision<save by "#remat.nothing_saveable" because "kept as another's operand anyway">
// CHECK-NOT: recompute
// CHECK: return
func.func @an_output_that_the_next_region_keeps_is_not_recomputed(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %ct: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %h, %r = remat.region (%a = %x : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>) -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
    %p = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.tanh ins(%p : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %t : tensor<4x4xf32> residuals(%t : tensor<4x4xf32>)
  }
  %y = remat.region (%a = %h : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %p = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %p : tensor<4x4xf32>
  }
  %dh = remat.backward (%a = %h : tensor<4x4xf32>) cotangents(%dy = %ct : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %p = linalg.matmul ins(%a, %dy : tensor<4x4xf32>, tensor<4x4xf32>) outs(%dy : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %p : tensor<4x4xf32>
  }
  %dx = remat.backward residuals(%s = %r : tensor<4x4xf32>) cotangents(%d = %dh : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %m = linalg.mul ins(%s, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%d : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %m : tensor<4x4xf32>
  }
  return %y, %dh, %dx : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// To make %h again takes an elementwise kernel, which its reader absorbs.
// CHECK-LABEL: func.func @a_kept_output_that_is_cheap_is_recomputed(
// CHECK: #remat.decision<recompute by "#remat.nothing_saveable" because "not permitted">
func.func @a_kept_output_that_is_cheap_is_recomputed(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %ct: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %h, %r = remat.region (%a = %x : tensor<4x4xf32>) -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
    %t = linalg.tanh ins(%a : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %t : tensor<4x4xf32> residuals(%t : tensor<4x4xf32>)
  }
  %dh = linalg.matmul {remat.phase = "backward"} ins(%h, %ct : tensor<4x4xf32>, tensor<4x4xf32>) outs(%ct : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dx = remat.backward residuals(%s = %r : tensor<4x4xf32>) cotangents(%d = %dh : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %m = linalg.mul ins(%s, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%d : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %m : tensor<4x4xf32>
  }
  return %dh, %dx : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The forward alone reads the output elsewhere.
// CHECK-LABEL: func.func @an_output_that_nobody_keeps_is_recomputed(
// CHECK: #remat.decision<recompute by "#remat.nothing_saveable" because "not permitted">
func.func @an_output_that_nobody_keeps_is_recomputed(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %ct: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %h, %r = remat.region (%a = %x : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>) -> tensor<4x4xf32> residuals(tensor<4x4xf32>) {
    %p = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.tanh ins(%p : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %t : tensor<4x4xf32> residuals(%t : tensor<4x4xf32>)
  }
  %y = linalg.matmul ins(%h, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%ct : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dx = remat.backward residuals(%s = %r : tensor<4x4xf32>) cotangents(%d = %ct : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %m = linalg.mul ins(%s, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%d : tensor<4x4xf32>) -> tensor<4x4xf32>
    remat.yield %m : tensor<4x4xf32>
  }
  return %y, %dx : tensor<4x4xf32>, tensor<4x4xf32>
}
