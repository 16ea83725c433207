// RUN: remat-opt %s -remat-insert-steps -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-insert-steps -cse -canonicalize -split-input-file | FileCheck %s --check-prefix=TWICE

opt.optimizer @adam = #opt.adam<lr = 0.1>
remat.train_step @step for @loss optimizer(@adam) {eager, clip_global_norm = 2.0}

// Each gradient is squared where it is final. The second sweep reads what the forward has saved through a barrier on the
// factor, and data through one where nothing else is from that sweep; parameters stay as they are, for updates in place.
// Constants are shared.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W1:[^ ]*]]: tensor<4x4xf32> {bufferization.writable = true
// CHECK-SAME: %[[W2:[^ ]*]]: tensor<4x4xf32>
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x4xf32> {bufferization.writable = false}
// CHECK-SAME: -> (tensor<f32> {remat.loss}, tensor<4x4xf32> {remat.updates = 0 : i64}
// CHECK: %[[H:.*]] = linalg.matmul ins(%[[X]], %[[W1]]
// CHECK: remat.begin_backward
// CHECK: %[[XT:.*]] = linalg.transpose ins(%[[X]]
// CHECK: %[[G2:.*]] = linalg.matmul {remat.phase = "backward"} ins(%[[H]], %[[H]]
// CHECK: %[[S2:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%[[G2]]
// CHECK: %[[N2:.*]] = tensor.extract %[[S2]]
// CHECK: linalg.matmul {remat.phase = "backward"} ins(%[[H]], %[[W2]]
// CHECK: %[[G1:.*]] = linalg.matmul {remat.phase = "backward"} ins(%[[XT]]
// CHECK: %[[S1:.*]] = linalg.generic {{.*}} ins(%[[G1]]
// CHECK: %[[N1:.*]] = tensor.extract %[[S1]]
// CHECK: %[[SUM1:.*]] = arith.addf %{{.*}}, %[[N1]]
// CHECK: %[[SUM2:.*]] = arith.addf %[[SUM1]], %[[N2]]
// CHECK: math.sqrt %[[SUM2]]
// CHECK: %[[SCALE:.*]] = arith.minimumf
// CHECK: %[[HA:.*]] = remat.barrier %[[H]] after %[[SCALE]] {remat.phase = "backward"}
// CHECK: %[[EMPTY:.*]] = remat.barrier %{{.*}} after %[[SCALE]]
// CHECK-NEXT: %[[XTA:.*]] = linalg.transpose ins(%[[X]] : tensor<4x4xf32>) outs(%[[EMPTY]]
// CHECK: %[[G2A:.*]] = linalg.matmul {remat.phase = "backward"} ins(%[[HA]], %[[HA]]
// CHECK: linalg.matmul {remat.phase = "backward"} ins(%[[HA]], %[[W2]]
// CHECK-NEXT: opt.eager_step @adam(%[[W2]], %[[G2A]], %{{.*}}) step %{{.*}} scale %[[SCALE]]
// CHECK: %[[G1A:.*]] = linalg.matmul {remat.phase = "backward"} ins(%[[XTA]]
// CHECK-NEXT: opt.eager_step @adam(%[[W1]], %[[G1A]], %{{.*}}) step %{{.*}} scale %[[SCALE]]

// Nothing merges the sweeps.
// TWICE-LABEL: func.func @step(
// TWICE-COUNT-2: linalg.transpose
// TWICE-NOT: linalg.transpose
func.func @loss_grad(%w1: tensor<4x4xf32> {opt.param}, %w2: tensor<4x4xf32> {opt.param}, %x: tensor<4x4xf32>)
    -> (tensor<f32> {remat.loss}, tensor<4x4xf32> {remat.gradient_of = 0}, tensor<4x4xf32> {remat.gradient_of = 1}) {
  %loss = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<4x4xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  remat.begin_backward
  %xt = linalg.transpose ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  %g2 = linalg.matmul {remat.phase = "backward"} ins(%h, %h : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = linalg.matmul {remat.phase = "backward"} ins(%h, %w2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %g1 = linalg.matmul {remat.phase = "backward"} ins(%xt, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %g1, %g2 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Without a border the forward is what the results depend on. An effect happens once, in the first sweep, and what
// depends on it alone is kept; a loop goes without its effects the second time.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, clip_global_norm = 2.0}
func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @print(tensor<4xf32>)

// CHECK-LABEL: func.func @step(
// CHECK: %[[H:.*]] = math.exp %arg2
// CHECK: %[[G1:.*]] = call @grad(%arg2)
// CHECK: %[[G2:.*]] = scf.for
// CHECK: func.call @print
// CHECK: %[[SCALE:.*]] = arith.minimumf
// CHECK-NOT: @grad
// CHECK: %[[HA:.*]] = remat.barrier %[[H]] after %[[SCALE]]
// CHECK-NEXT: %[[G1A:.*]] = remat.barrier %[[G1]] after %[[SCALE]]
// CHECK-NEXT: opt.eager_step @sgd(%arg0, %[[G1A]])
// CHECK: %[[G2A:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[HA]])
// CHECK-NOT: @print
// CHECK: opt.eager_step @sgd(%arg1, %[[G2A]])
// CHECK: return
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %v: tensor<4xf32> {opt.param}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32> {remat.gradient_of = 0}, tensor<4xf32> {remat.gradient_of = 1}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %h = math.exp %x : tensor<4xf32>
  %g1 = call @grad(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %g2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %h) -> tensor<4xf32> {
    func.call @print(%a) : (tensor<4xf32>) -> ()
    %n = math.sin %a : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  return %h, %g1, %g2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A function that returns gradients is another one in the second sweep, which updates may be moved into.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, clip_global_norm = 2.0}

// CHECK-LABEL: func.func @step(
// CHECK: %[[G:.*]]:2 = call @backward(%arg0, %arg1)
// CHECK: %[[D:.*]]:2 = call @backward(%arg0, %[[G]]#1)
// CHECK: call @[[AGAIN:backward_[0-9]+]](%arg0, %{{.*}})
// CHECK: call @[[AGAIN]](%arg0, %{{.*}})
// CHECK-NEXT: opt.eager_step
// CHECK: func.func private @backward(
// CHECK: func.func private @[[AGAIN]](
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>)
    -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  remat.begin_backward
  %g:2 = call @backward(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d:2 = call @backward(%w, %g#1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %loss, %d#0 : f32, tensor<4xf32>
}
func.func private @backward(%w: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  remat.begin_backward
  %g = math.exp %d : tensor<4xf32>
  %n = math.sin %w : tensor<4xf32>
  return %g, %n : tensor<4xf32>, tensor<4xf32>
}

// -----

// The norm is a result on request, without clipping, too: then one sweep is enough.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, grad_norm}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: -> (f32, tensor<f64> {remat.metric = "remat.grad_norm"}, tensor<4xf32> {remat.updates = 0 : i64})
// CHECK: %[[G:.*]] = math.exp
// CHECK: %[[W:.*]] = opt.eager_step @sgd(%arg0, %[[G]]) step %arg2 {parameter
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[G]]
// CHECK: %[[ROOT:.*]] = math.sqrt
// CHECK: %[[NORM:.*]] = tensor.from_elements %[[ROOT]]
// CHECK: return %{{.*}}, %[[NORM]], %[[W]]
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  %g = math.exp %x : tensor<4xf32>
  return %loss, %g : f32, tensor<4xf32>
}
