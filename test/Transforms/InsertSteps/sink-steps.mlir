// RUN: remat-opt %s --remat-sink-steps --split-input-file | FileCheck %s

// Both calls are followed by the steps of their gradients. The function reads the weight already, but not the bias. The
// step stands after the last read of the weight.
// CHECK-LABEL: func.func private @layer_bwd(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8xf32> {opt.param}, %[[D:[^:]*]]: tensor<8xf32>,
// CHECK-SAME: %[[M:[^:]*]]: tensor<8xf32> {opt.state = "0", opt.state_of = 0 : i64}, %[[T:[^:]*]]: i64,
// CHECK-SAME: %[[B:[^:]*]]: tensor<8xf32> {opt.param}, %[[N:[^:]*]]: tensor<8xf32> {opt.state = "0", opt.state_of = 4 : i64})
// CHECK-SAME: -> (tensor<8xf32>, tensor<8xf32> {remat.updates = 0 : i64}, tensor<8xf32> {remat.updates = 4 : i64}, tensor<8xf32> {remat.updates = 2 : i64}, tensor<8xf32> {remat.updates = 5 : i64})
// CHECK: %[[DW:.*]] = linalg.exp ins(%[[D]]
// CHECK-NEXT: %[[DX:.*]] = linalg.mul ins(%[[D]], %[[W]]
// CHECK-NEXT: %[[WN:.*]], %[[WS:.*]] = opt.eager_step @momentum(%[[W]], %[[DW]], %[[M]]) step %[[T]] {parameter = "1.w", remat.phase = "update"}
// CHECK-NEXT: %[[DB:.*]] = linalg.add ins(%[[D]], %[[D]]
// CHECK-NEXT: %[[BN:.*]], %[[BS:.*]] = opt.eager_step @momentum(%[[B]], %[[DB]], %[[N]]) step %[[T]] {parameter = "1.b", remat.phase = "update"}
// CHECK-NEXT: return %[[DX]], %[[WN]], %[[BN]], %[[WS]], %[[BS]]
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W0:[^:]*]]: tensor<8xf32>, %[[B0:[^:]*]]: tensor<8xf32>, %[[W1:[^:]*]]: tensor<8xf32>, %[[B1:[^:]*]]: tensor<8xf32>, %[[MW0:[^:]*]]: tensor<8xf32>, %[[MB0:[^:]*]]: tensor<8xf32>, %[[MW1:[^:]*]]: tensor<8xf32>, %[[MB1:[^:]*]]: tensor<8xf32>, %[[D:[^:]*]]: tensor<8xf32>, %[[T:.*]]: i64)
// CHECK-NEXT: %[[C1:.*]]:5 = call @layer_bwd(%[[W1]], %[[D]], %[[MW1]], %[[T]], %[[B1]], %[[MB1]]) {remat.phase = "backward"}
// CHECK-NEXT: %[[C0:.*]]:5 = call @layer_bwd(%[[W0]], %[[C1]]#0, %[[MW0]], %[[T]], %[[B0]], %[[MB0]])
// CHECK-NEXT: return %[[C0]]#0, %[[C0]]#1, %[[C0]]#2, %[[C1]]#1, %[[C1]]#2, %[[C0]]#3, %[[C0]]#4, %[[C1]]#3, %[[C1]]#4
opt.optimizer @momentum = #opt.sgd<lr = 0.1, momentum = 0.9>
func.func private @layer_bwd(%w: tensor<8xf32>, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  remat.begin_backward
  %e = tensor.empty() : tensor<8xf32>
  %dw = linalg.exp ins(%d : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dx = linalg.mul ins(%d, %w : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %db = linalg.add ins(%d, %d : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %dx, %dw, %db : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @step(%w0: tensor<8xf32>, %b0: tensor<8xf32>, %w1: tensor<8xf32>, %b1: tensor<8xf32>, %mw0: tensor<8xf32>, %mb0: tensor<8xf32>, %mw1: tensor<8xf32>, %mb1: tensor<8xf32>, %d: tensor<8xf32>, %t: i64)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %1:3 = call @layer_bwd(%w1, %d) {remat.phase = "backward"} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %w1n:2 = opt.eager_step @momentum(%w1, %1#1, %mw1) step %t {parameter = "1.w"} : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  %b1n:2 = opt.eager_step @momentum(%b1, %1#2, %mb1) step %t {parameter = "1.b"} : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  %2:3 = call @layer_bwd(%w0, %1#0) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %w0n:2 = opt.eager_step @momentum(%w0, %2#1, %mw0) step %t {parameter = "0.w"} : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  %b0n:2 = opt.eager_step @momentum(%b0, %2#2, %mb0) step %t {parameter = "0.b"} : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return %2#0, %w0n#0, %b0n#0, %w1n#0, %b1n#0, %w0n#1, %b0n#1, %w1n#1, %b1n#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Another rule for the bias of one layer keeps both steps; so does a gradient that something else reads, and a step that waits for
// a read of the old value.
// CHECK-LABEL: func.func private @bwd(
// CHECK-NOT: opt.eager_step
// CHECK-LABEL: func.func @differences(
// CHECK-COUNT-6: opt.eager_step
opt.optimizer @groups = #opt.sgd<lr = 0.1> {groups = [#opt.group<"1.b", lr = 0.2>]}
func.func private @bwd(%d: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %dw = math.exp %d : tensor<8xf32>
  %db = math.sin %d : tensor<8xf32>
  %dc = math.cos %d : tensor<8xf32>
  %dx = arith.addf %d, %d : tensor<8xf32>
  return %dx, %dw, %db, %dc : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @differences(%w0: tensor<8xf32>, %b0: tensor<8xf32>, %w1: tensor<8xf32>, %b1: tensor<8xf32>, %c0: tensor<8xf32>, %c1: tensor<8xf32>, %d: tensor<8xf32>, %t: i64)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %1:4 = call @bwd(%d) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %b1n = opt.eager_step @groups(%b1, %1#2) step %t {parameter = "1.b"} : tensor<8xf32>, tensor<8xf32>
  %w1n = opt.eager_step @groups(%w1, %1#1) step %t {parameter = "1.w"} : tensor<8xf32>, tensor<8xf32>
  %read = math.exp %c1 : tensor<8xf32>
  %c1n = opt.eager_step @groups(%c1, %1#3) step %t {parameter = "1.c"} : tensor<8xf32>, tensor<8xf32>
  %2:4 = call @bwd(%1#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %b0n = opt.eager_step @groups(%b0, %2#2) step %t {parameter = "0.b"} : tensor<8xf32>, tensor<8xf32>
  %w0n = opt.eager_step @groups(%w0, %2#1) step %t {parameter = "0.w"} : tensor<8xf32>, tensor<8xf32>
  %c0n = opt.eager_step @groups(%c0, %2#3) step %t {parameter = "0.c"} : tensor<8xf32>, tensor<8xf32>
  return %b1n, %w1n, %b0n, %w0n, %2#1, %c0n, %c1n, %read : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// The function would not know that a view is the parameter.
// CHECK-LABEL: func.func private @view_bwd(
// CHECK-NOT: opt.eager_step
// CHECK-LABEL: func.func @views(
// CHECK: opt.eager_step
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @view_bwd(%w: tensor<8xf32>, %v: tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>) {
  %dw = math.exp %w : tensor<8xf32>
  %dx = math.exp %v : tensor<4x2xf32>
  return %dw, %dx : tensor<8xf32>, tensor<4x2xf32>
}
func.func @views(%w: tensor<8xf32>, %t: i64) -> (tensor<8xf32>, tensor<4x2xf32>) {
  %v = tensor.expand_shape %w [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %1:2 = call @view_bwd(%w, %v) : (tensor<8xf32>, tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>)
  %wn = opt.eager_step @sgd(%w, %1#0) step %t {parameter = "w"} : tensor<8xf32>, tensor<8xf32>
  return %wn, %1#1 : tensor<8xf32>, tensor<4x2xf32>
}
