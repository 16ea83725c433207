// RUN: remat-opt %s -split-input-file -remat-differentiate -remat-insert-steps | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-train -o /dev/null

opt.optimizer @sgd = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@sgd) {eager}

// A history: what was the newest entry is stored elsewhere before it is overwritten.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4xf32> {{{[^}]*}}opt.param = "w"{{[^}]*}}}, %[[NEW:[^:]*]]: tensor<4xf32> {{{[^}]*}}remat.state = "new"{{[^}]*}}}, %[[OLD:[^:]*]]: tensor<4xf32> {{{[^}]*}}remat.state = "old"
// CHECK: %[[SUM:.*]] = linalg.add ins(%[[NEW]], %[[W]]
// CHECK: %[[OLD1:.*]] = bufferization.materialize_in_destination %[[NEW]] in %[[OLD]]
// CHECK: %[[NEW1:.*]] = bufferization.materialize_in_destination %[[SUM]] in %[[NEW]]
// CHECK: return %{{[^,]*}}, %[[NEW1]], %[[OLD1]]
func.func @loss(%w: tensor<4xf32> {opt.param = "w", opt.init = "ones"}, %new: tensor<4xf32> {remat.state = "new", opt.init = "ones"},
                %old: tensor<4xf32> {remat.state = "old", opt.init = "zeros"})
    -> (tensor<f32>, tensor<4xf32> {remat.state = "new"}, tensor<4xf32> {remat.state = "old"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%w, %old : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  %e4 = tensor.empty() : tensor<4xf32>
  %sum = linalg.add ins(%new, %w : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  return %l, %sum, %new : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@sgd) {eager}

// Two states are exchanged: one old value waits in a copy.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[A:[^:]*]]: tensor<4xf32> {{{[^}]*}}remat.state = "a"{{[^}]*}}}, %[[B:[^:]*]]: tensor<4xf32> {{{[^}]*}}remat.state = "b"
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK: %[[A1:.*]] = bufferization.materialize_in_destination %[[B]] in %[[A]]
// CHECK: %[[B1:.*]] = bufferization.materialize_in_destination %[[COPY]] in %[[B]]
// CHECK: return %{{[^,]*}}, %[[A1]], %[[B1]]
func.func @loss(%w: tensor<4xf32> {opt.param = "w", opt.init = "ones"}, %a: tensor<4xf32> {remat.state = "a", opt.init = "ones"},
                %b: tensor<4xf32> {remat.state = "b", opt.init = "zeros"})
    -> (tensor<f32>, tensor<4xf32> {remat.state = "a"}, tensor<4xf32> {remat.state = "b"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%w, %a : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l, %b, %a : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@sgd) {eager}

// One value for two states is computed in the first, and copied to the second from there.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[A:[^:]*]]: tensor<4xf32> {{{[^}]*}}remat.state = "a"{{[^}]*}}}, %[[B:[^:]*]]: tensor<4xf32> {{{[^}]*}}remat.state = "b"
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK: %[[A1:.*]] = bufferization.materialize_in_destination %[[SUM]] in %[[A]]
// CHECK: %[[B1:.*]] = bufferization.materialize_in_destination %[[A1]] in %[[B]]
// CHECK: return %{{[^,]*}}, %[[A1]], %[[B1]]
func.func @loss(%w: tensor<4xf32> {opt.param = "w", opt.init = "ones"}, %a: tensor<4xf32> {remat.state = "a", opt.init = "ones"},
                %b: tensor<4xf32> {remat.state = "b", opt.init = "zeros"})
    -> (tensor<f32>, tensor<4xf32> {remat.state = "a"}, tensor<4xf32> {remat.state = "b"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%w, %b : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  %e4 = tensor.empty() : tensor<4xf32>
  %sum = linalg.add ins(%a, %w : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  return %l, %sum, %sum : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
