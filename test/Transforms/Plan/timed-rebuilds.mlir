// RUN: remat-opt %s -remat-plan-functions -split-input-file | FileCheck %s --check-prefix=PLAN
// RUN: remat-opt %s -remat-plan-functions -remat-materialize -remat-fuse -remat-inline-regions -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-plan-functions -remat-materialize -cse -remat-fuse -cse -remat-inline-regions -canonicalize -split-input-file | FileCheck %s

#mat = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The backward's product reads what one kernel makes of %x, which is there
// until %dx has been computed.
// PLAN-LABEL: func.func @a_product_reads_it_made_again(
// PLAN: remat.plan %[[X:.*]], %[[Y:.*]], %[[Z:.*]] : tensor
// PLAN-SAME: [#remat.decision<save by "function" because "read by the backward">,
// PLAN-SAME: #remat.decision<rebuild by "function" because "takes a small part of the step to make again">,
// PLAN-SAME: #remat.decision<save by "function" because "read by the backward">]

// CHECK-LABEL: func.func @a_product_reads_it_made_again(
// CHECK: %[[X:.*]] = linalg.matmul
// CHECK: %[[DZ:.*]] = linalg.exp {remat.phase = "backward"}
// CHECK: %[[SOURCE:.*]] = remat.barrier %[[X]] after %[[DZ]] {remat.phase = "backward"}
// CHECK: %[[AGAIN:.*]] = linalg.tanh {remat.phase = "backward"} ins(%[[SOURCE]] :
// CHECK: linalg.matmul {remat.phase = "backward"} ins(%[[AGAIN]], %[[DZ]] :
func.func @a_product_reads_it_made_again(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dz, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %dw, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// A policy names it.
// CHECK-LABEL: func.func @a_value_that_a_policy_names_stays(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @a_value_that_a_policy_names_stays(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.saved %y : tensor<1024x1024xf32> #remat.decision<save_named of "h" by "#remat.save_only_names<\"h\">" because "named by the policy">
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dz, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %dw, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// Permission by a policy that does not name it is no duty.
// CHECK-LABEL: func.func @a_value_that_a_policy_permits_is_made_again(
// CHECK: remat.barrier
// CHECK: linalg.tanh {remat.phase = "backward"}
func.func @a_value_that_a_policy_permits_is_made_again(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.saved %y : tensor<1024x1024xf32> #remat.decision<save of "h" by "#remat.everything_saveable" because "permitted">
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dz, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %dw, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// Nothing else in the backward reads %x: to keep it instead gains nothing.
// CHECK-LABEL: func.func @its_source_would_have_to_be_kept(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @its_source_would_have_to_be_kept(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %dw : tensor<1024x1024xf32>
}

// -----

// The backward is through with %x when it needs %y: %x would live longer.
// CHECK-LABEL: func.func @its_source_would_live_longer(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @its_source_would_live_longer(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dz, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %dw, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// A product of 64 columns takes no longer than the kernel.
// CHECK-LABEL: func.func @the_step_is_too_short(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @the_step_is_too_short(%x0: tensor<1024x64xf32>, %w: tensor<64x64xf32>, %zeros: tensor<1024x64xf32>, %none: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = tensor.empty() : tensor<1024x64xf32>
  %x = linalg.matmul ins(%x0, %w : tensor<1024x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %y = linalg.tanh ins(%x : tensor<1024x64xf32>) outs(%e : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x64xf32>) outs(%e : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %t = tensor.empty() : tensor<64x1024xf32>
  %yt = linalg.transpose ins(%y : tensor<1024x64xf32>) outs(%t : tensor<64x1024xf32>) permutation = [1, 0] {remat.phase = "backward"}
  %dw = linalg.matmul {remat.phase = "backward"} ins(%yt, %dz : tensor<64x1024xf32>, tensor<1024x64xf32>) outs(%none : tensor<64x64xf32>) -> tensor<64x64xf32>
  %xt = linalg.transpose ins(%x : tensor<1024x64xf32>) outs(%t : tensor<64x1024xf32>) permutation = [1, 0] {remat.phase = "backward"}
  %dx = linalg.matmul {remat.phase = "backward"} ins(%xt, %dz : tensor<64x1024xf32>, tensor<1024x64xf32>) outs(%none : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %dw, %dx : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// %s is a residual connection: recomputed from %y, which is recomputed as well,
// it is one kernel of %x0 and %x.
// CHECK-LABEL: func.func @a_chain_is_one_kernel(
// CHECK: %[[X0:.*]] = linalg.matmul
// CHECK: %[[X:.*]] = linalg.matmul
// CHECK: %[[SOURCES:.*]]:2 = remat.barrier %[[X]], %[[X0]] after
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[SOURCES]]#0, %[[SOURCES]]#1 :
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK: linalg.matmul {remat.phase = "backward"} ins(%[[S]],
// CHECK: %[[Y:.*]] = linalg.tanh {remat.phase = "backward"}
// CHECK: linalg.matmul {remat.phase = "backward"} ins(%[[Y]],
func.func @a_chain_is_one_kernel(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x0 = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x0 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %x = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s = linalg.add ins(%x, %y : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%s, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %ds = linalg.matmul {remat.phase = "backward"} ins(%s, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dy = linalg.matmul {remat.phase = "backward"} ins(%y, %ds : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%x, %dy : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx0 = linalg.matmul {remat.phase = "backward"} ins(%x0, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %ds, %dy, %dx, %dx0 : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// The peak is where %big and what is made of it are live, when %y has died.
// CHECK-LABEL: func.func @where_little_is_live_values_stay(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @where_little_is_live_values_stay(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>, %p: tensor<32x1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<32x1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dz, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b = tensor.empty() : tensor<32x1024x1024xf32>
  %big = linalg.exp {remat.phase = "backward"} ins(%p : tensor<32x1024x1024xf32>) outs(%b : tensor<32x1024x1024xf32>) -> tensor<32x1024x1024xf32>
  %sq = linalg.square {remat.phase = "backward"} ins(%big : tensor<32x1024x1024xf32>) outs(%b : tensor<32x1024x1024xf32>) -> tensor<32x1024x1024xf32>
  return %dw, %dx, %sq : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<32x1024x1024xf32>
}

// -----

// The function returns it, which keeps it anyway.
// CHECK-LABEL: func.func @what_is_returned_stays(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @what_is_returned_stays(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dw = linalg.matmul {remat.phase = "backward"} ins(%y, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dz, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %y, %dw, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// A reshape is between the kernels that make %s again: the first one's result is
// in memory for a moment, when the values %b are gone.
// CHECK-LABEL: func.func @a_part_of_it_is_in_memory_far_from_the_peak(
// CHECK: linalg.exp
// CHECK: linalg.tanh {remat.phase = "backward"}
// CHECK: linalg.add {remat.phase = "backward"}
func.func @a_part_of_it_is_in_memory_far_from_the_peak(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %ev = tensor.empty() : tensor<32x32x1024xf32>
  %x0 = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %x = linalg.matmul ins(%x0, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %yv = tensor.expand_shape %y [[0, 1], [2]] output_shape [32, 32, 1024] : tensor<1024x1024xf32> into tensor<32x32x1024xf32>
  %x0v = tensor.expand_shape %x0 [[0, 1], [2]] output_shape [32, 32, 1024] : tensor<1024x1024xf32> into tensor<32x32x1024xf32>
  %sv = linalg.add ins(%yv, %x0v : tensor<32x32x1024xf32>, tensor<32x32x1024xf32>) outs(%ev : tensor<32x32x1024xf32>) -> tensor<32x32x1024xf32>
  %s = tensor.collapse_shape %sv [[0, 1], [2]] : tensor<32x32x1024xf32> into tensor<1024x1024xf32>
  %b0 = linalg.matmul ins(%s, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b1 = linalg.matmul ins(%b0, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b2 = linalg.matmul ins(%b1, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b3 = linalg.matmul ins(%b2, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b4 = linalg.matmul ins(%b3, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b5 = linalg.matmul ins(%b4, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b6 = linalg.matmul ins(%b5, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %d = linalg.exp {remat.phase = "backward"} ins(%b6 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d5 = linalg.matmul {remat.phase = "backward"} ins(%b5, %d : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d4 = linalg.matmul {remat.phase = "backward"} ins(%b4, %d5 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d3 = linalg.matmul {remat.phase = "backward"} ins(%b3, %d4 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d2 = linalg.matmul {remat.phase = "backward"} ins(%b2, %d3 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d1 = linalg.matmul {remat.phase = "backward"} ins(%b1, %d2 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d0 = linalg.matmul {remat.phase = "backward"} ins(%b0, %d1 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %ds = linalg.matmul {remat.phase = "backward"} ins(%s, %d0 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dy = linalg.matmul {remat.phase = "backward"} ins(%y, %ds : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dz = linalg.matmul {remat.phase = "backward"} ins(%dy, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%x0, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %ds, %dy, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// The same where the peak is when %s is needed.
// CHECK-LABEL: func.func @a_part_of_it_would_be_in_memory_at_the_peak(
// CHECK-NOT: linalg.add {remat.phase
// CHECK: return
func.func @a_part_of_it_would_be_in_memory_at_the_peak(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %ev = tensor.empty() : tensor<32x32x1024xf32>
  %x0 = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %x = linalg.matmul ins(%x0, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%y, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %yv = tensor.expand_shape %y [[0, 1], [2]] output_shape [32, 32, 1024] : tensor<1024x1024xf32> into tensor<32x32x1024xf32>
  %x0v = tensor.expand_shape %x0 [[0, 1], [2]] output_shape [32, 32, 1024] : tensor<1024x1024xf32> into tensor<32x32x1024xf32>
  %sv = linalg.add ins(%yv, %x0v : tensor<32x32x1024xf32>, tensor<32x32x1024xf32>) outs(%ev : tensor<32x32x1024xf32>) -> tensor<32x32x1024xf32>
  %s = tensor.collapse_shape %sv [[0, 1], [2]] : tensor<32x32x1024xf32> into tensor<1024x1024xf32>
  %b0 = linalg.matmul ins(%s, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %d = linalg.exp {remat.phase = "backward"} ins(%b0 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %ds = linalg.matmul {remat.phase = "backward"} ins(%s, %d : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dy = linalg.matmul {remat.phase = "backward"} ins(%y, %ds : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dz = linalg.matmul {remat.phase = "backward"} ins(%dy, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%x0, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %ds, %dy, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// %y is recomputed, in one kernel. If %s were recomputed as well, by eight more,
// %y would have to be kept after all.
// PLAN-LABEL: func.func @what_is_made_again_is_not_kept_for_others(
// PLAN: remat.plan %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor
// PLAN-SAME: [#remat.decision<save by "function" because "read by the backward">,
// PLAN-SAME: #remat.decision<rebuild by "function" because "takes a small part of the step to make again">,
// PLAN-SAME: #remat.decision<save by "function" because "read by the backward">,
// PLAN-SAME: #remat.decision<save by "function" because "read by the backward">]
func.func @what_is_made_again_is_not_kept_for_others(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %zeros: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %x = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = linalg.tanh ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s0 = linalg.negf ins(%y : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s1 = linalg.negf ins(%s0 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s2 = linalg.negf ins(%s1 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s3 = linalg.negf ins(%s2 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s4 = linalg.negf ins(%s3 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s5 = linalg.negf ins(%s4 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s6 = linalg.negf ins(%s5 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s = linalg.negf ins(%s6 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = linalg.matmul ins(%s, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  remat.begin_backward
  %dz = linalg.exp {remat.phase = "backward"} ins(%z : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %ds = linalg.matmul {remat.phase = "backward"} ins(%s, %dz : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dy = linalg.matmul {remat.phase = "backward"} ins(%y, %ds : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dx = linalg.matmul {remat.phase = "backward"} ins(%dy, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %ds, %dy, %dx : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
