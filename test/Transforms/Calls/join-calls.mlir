// RUN: remat-opt %s --remat-join-calls --split-input-file | FileCheck %s --check-prefix=JOIN
// RUN: remat-opt %s --remat-join-calls --remat-split-calls --split-input-file | FileCheck %s --check-prefix=SPLIT

// Two layers of y = exp(w x), and their backward. The second result is a residual, the first one is read by both.
// JOIN: func.func private @layer_joint(%[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8xf32>, %[[DY:.*]]: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {no_inline}
// JOIN: %[[P:.*]] = arith.mulf %[[X]], %[[W]]
// JOIN-NEXT: %[[Y:.*]] = math.exp %[[P]]
// JOIN-NEXT: %[[T:.*]] = math.tanh %[[P]]
// JOIN-NEXT: remat.begin_backward
// JOIN-NEXT: %[[DP:.*]] = arith.mulf %[[DY]], %[[Y]]
// JOIN-NEXT: %[[DX:.*]] = arith.mulf %[[DP]], %[[W]]
// JOIN-NEXT: %[[DW:.*]] = arith.mulf %[[DP]], %[[T]]
// JOIN-NEXT: return %[[Y]], %[[DX]], %[[DW]]
// JOIN: func.func private @layer_fwd(tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, none) attributes {no_inline, remat.joint = @layer_joint}
// JOIN: func.func private @layer_bwd(none, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {remat.backward, remat.joint = @layer_joint, remat.reads = array<i64: 1>}
// JOIN-LABEL: func.func @step(
// JOIN-SAME: %[[X0:.*]]: tensor<8xf32>, %[[W0:.*]]: tensor<8xf32>, %[[W1:.*]]: tensor<8xf32>, %[[D2:.*]]: tensor<8xf32>)
// JOIN-NEXT: %[[F0:.*]]:2 = call @layer_fwd(%[[X0]], %[[W0]])
// JOIN-NEXT: %[[F1:.*]]:2 = call @layer_fwd(%[[F0]]#0, %[[W1]])
// JOIN-NEXT: %[[B1:.*]]:2 = call @layer_bwd(%[[F1]]#1, %[[W1]], %[[D2]]) {remat.phase = "backward"}
// JOIN-NEXT: %[[B0:.*]]:2 = call @layer_bwd(%[[F0]]#1, %[[W0]], %[[B1]]#0) {remat.phase = "backward"}
// JOIN-NEXT: return %[[F1]]#0, %[[B0]]#0, %[[B0]]#1, %[[B1]]#1

// Arguments of the backward come in the order in which it reads them, cotangents last.
// SPLIT: func.func private @layer_fwd(%[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {no_inline}
// SPLIT: %[[P:.*]] = arith.mulf %[[X]], %[[W]]
// SPLIT-NEXT: %[[Y:.*]] = math.exp %[[P]]
// SPLIT-NEXT: %[[T:.*]] = math.tanh %[[P]]
// SPLIT-NEXT: return %[[Y]], %[[T]]
// SPLIT: func.func private @layer_bwd(%[[Y:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8xf32>, %[[T:.*]]: tensor<8xf32>, %[[DY:.*]]: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {remat.backward}
// SPLIT-NEXT: remat.begin_backward
// SPLIT-NEXT: %[[DP:.*]] = arith.mulf %[[DY]], %[[Y]]
// SPLIT-NEXT: %[[DX:.*]] = arith.mulf %[[DP]], %[[W]]
// SPLIT-NEXT: %[[DW:.*]] = arith.mulf %[[DP]], %[[T]]
// SPLIT-NEXT: return %[[DX]], %[[DW]]
// SPLIT-LABEL: func.func @step(
// SPLIT-SAME: %[[X0:.*]]: tensor<8xf32>, %[[W0:.*]]: tensor<8xf32>, %[[W1:.*]]: tensor<8xf32>, %[[D2:.*]]: tensor<8xf32>)
// SPLIT-NEXT: %[[F0:.*]]:2 = call @layer_fwd(%[[X0]], %[[W0]])
// SPLIT-NEXT: %[[F1:.*]]:2 = call @layer_fwd(%[[F0]]#0, %[[W1]])
// SPLIT-NEXT: %[[B1:.*]]:2 = call @layer_bwd(%[[F1]]#0, %[[W1]], %[[F1]]#1, %[[D2]]) {remat.phase = "backward"}
// SPLIT-NEXT: %[[B0:.*]]:2 = call @layer_bwd(%[[F0]]#0, %[[W0]], %[[F0]]#1, %[[B1]]#0) {remat.phase = "backward"}
// SPLIT-NEXT: return %[[F1]]#0, %[[B0]]#0, %[[B0]]#1, %[[B1]]#1
func.func private @layer_fwd(%x: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {no_inline} {
  %p = arith.mulf %x, %w : tensor<8xf32>
  %y = math.exp %p : tensor<8xf32>
  %t = math.tanh %p : tensor<8xf32>
  return %y, %t : tensor<8xf32>, tensor<8xf32>
}
func.func private @layer_bwd(%y: tensor<8xf32>, %w: tensor<8xf32>, %t: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {remat.backward} {
  remat.begin_backward
  %dp = arith.mulf %dy, %y : tensor<8xf32>
  %dx = arith.mulf %dp, %w : tensor<8xf32>
  %dw = arith.mulf %dp, %t : tensor<8xf32>
  return %dx, %dw : tensor<8xf32>, tensor<8xf32>
}
func.func @step(%x: tensor<8xf32>, %w0: tensor<8xf32>, %w1: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %1:2 = call @layer_fwd(%x, %w0) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %2:2 = call @layer_fwd(%1#0, %w1) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %3:2 = call @layer_bwd(%2#0, %w1, %2#1, %dy) {remat.phase = "backward"} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %4:2 = call @layer_bwd(%1#0, %w0, %1#1, %3#0) {remat.phase = "backward"} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %2#0, %4#0, %4#1, %3#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A view of a residual is recomputed. Operations before the border that need a cotangent move after it.
// SPLIT: func.func private @f_fwd(%[[X:.*]]: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// SPLIT: %[[S:.*]] = math.sin %[[X]]
// SPLIT: %[[Y:.*]] = math.exp %[[S]]
// SPLIT-NEXT: return %[[Y]], %[[S]]
// SPLIT: func.func private @f_bwd(%[[S:.*]]: tensor<8xf32>, %[[D:.*]]: tensor<8xf32>) -> tensor<4xf32>
// SPLIT-NEXT: remat.begin_backward
// SPLIT-NEXT: %[[N:.*]] = arith.negf %[[D]]
// SPLIT-NEXT: tensor.expand_shape %[[N]]
// SPLIT-NEXT: tensor.expand_shape %[[S]]
// SPLIT-LABEL: func.func @views(
// SPLIT-SAME: %[[X0:.*]]: tensor<8xf32>, %[[D0:.*]]: tensor<8xf32>)
// SPLIT-NEXT: %[[F:.*]]:2 = call @f_fwd(%[[X0]])
// SPLIT-NEXT: call @f_bwd(%[[F]]#1, %[[D0]])
func.func private @f_joint(%x: tensor<8xf32>, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %n = arith.negf %d : tensor<8xf32>
  %s = math.sin %x : tensor<8xf32>
  %e = tensor.expand_shape %s [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %y = math.exp %s : tensor<8xf32>
  remat.begin_backward
  %ne = tensor.expand_shape %n [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %p = arith.mulf %ne, %e : tensor<4x2xf32>
  %dx = tensor.extract_slice %p[0, 0] [4, 1] [1, 1] : tensor<4x2xf32> to tensor<4xf32>
  return %y, %dx : tensor<8xf32>, tensor<4xf32>
}
func.func private @f_fwd(tensor<8xf32>) -> (tensor<8xf32>, none) attributes {remat.joint = @f_joint}
func.func private @f_bwd(none, tensor<8xf32>) -> tensor<4xf32> attributes {remat.joint = @f_joint, remat.reads = array<i64>}
func.func @views(%x: tensor<8xf32>, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %y, %token = call @f_fwd(%x) : (tensor<8xf32>) -> (tensor<8xf32>, none)
  %dx = call @f_bwd(%token, %d) : (none, tensor<8xf32>) -> tensor<4xf32>
  return %y, %dx : tensor<8xf32>, tensor<4xf32>
}

// -----

// Not a pair: one call of the backward reads something that is computed from the residual.
// JOIN-LABEL: func.func private @a_fwd(
// JOIN-NOT: joint
func.func private @a_fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %t = math.tanh %x : tensor<8xf32>
  return %x, %t : tensor<8xf32>, tensor<8xf32>
}
func.func private @a_bwd(%t: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<8xf32> {
  remat.begin_backward
  %dx = arith.mulf %t, %d : tensor<8xf32>
  return %dx : tensor<8xf32>
}
func.func @not_direct(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %1:2 = call @a_fwd(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %2:2 = call @a_fwd(%1#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %n = arith.negf %2#1 : tensor<8xf32>
  %3 = call @a_bwd(%n, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = call @a_bwd(%1#1, %3) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2#0, %4 : tensor<8xf32>, tensor<8xf32>
}

// -----

// JOIN-LABEL: func.func private @s_joint(
// Slices of which the backward reads all are taken there, of one residual; where it reads a part of the tensor, that is the residual.
// SPLIT: func.func private @s_fwd(%{{.*}}) -> (tensor<4xf32>, tensor<8xf32>, tensor<2xf32>)
// SPLIT: func.func private @s_bwd(%[[T:.*]]: tensor<8xf32>, %[[P:.*]]: tensor<2xf32>, %[[D:.*]]: tensor<4xf32>)
// SPLIT-NEXT: remat.begin_backward
// SPLIT-NEXT: tensor.extract_slice %[[T]][{{[04]}}] [4] [1]
// SPLIT-NEXT: tensor.extract_slice %[[T]][{{[04]}}] [4] [1]
// SPLIT-NOT: tensor.extract_slice
// SPLIT: return
func.func private @s_joint(%x: tensor<8xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  %t = math.tanh %x : tensor<8xf32>
  %a = tensor.extract_slice %t[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %b = tensor.extract_slice %t[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %u = math.exp %x : tensor<8xf32>
  %p = tensor.extract_slice %u[2] [2] [1] : tensor<8xf32> to tensor<2xf32>
  %y = arith.mulf %a, %b : tensor<4xf32>
  remat.begin_backward
  %da = arith.mulf %d, %b : tensor<4xf32>
  %db = arith.mulf %da, %a : tensor<4xf32>
  %dp = math.sin %p : tensor<2xf32>
  return %y, %db, %dp : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}
func.func private @s_fwd(tensor<8xf32>) -> (tensor<4xf32>, none) attributes {remat.joint = @s_joint}
func.func private @s_bwd(none, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) attributes {remat.joint = @s_joint, remat.reads = array<i64>}
func.func @slices(%x: tensor<8xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  %y, %token = call @s_fwd(%x) : (tensor<8xf32>) -> (tensor<4xf32>, none)
  %1:2 = call @s_bwd(%token, %d) : (none, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  return %y, %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}
