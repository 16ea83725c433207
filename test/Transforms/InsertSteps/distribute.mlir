// RUN: remat-opt %s -remat-insert-steps -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-insert-steps -cse -canonicalize -split-input-file -o /dev/null

// Two layers, each with a loop of its own in the backward. What a loop passes to another one is stored for each
// micro-batch; a reshape is not, but what it shows; constants and destinations are made anew. The forward carries the
// states and the loss; an old state that the backward reads is stored as it was before the micro-batch.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, accumulate = 4}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W1:[^ ]*]]: tensor<64x64xf32> {bufferization.writable = true
// CHECK-SAME: %[[W2:[^ ]*]]: tensor<64x64xf32>
// CHECK-SAME: %[[X:[^ ]*]]: tensor<8x64xf32> {bufferization.writable = false}
// CHECK-SAME: %[[S:[^ ]*]]: tensor<2x64xf32> {bufferization.writable = true, remat.state = "s"}
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[STATE:.*]] = %[[S]], %{{.*}} = %{{.*}}, %[[OLD:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, tensor<2x64xf32>, tensor<4x128xf32>, tensor<4x2x64xf32>, tensor<4x2x64xf32>)
// CHECK: remat.tape_write %[[STATE]] into %[[OLD]]
// CHECK: %[[EXAMPLES:.*]] = tensor.extract_slice %[[X]]
// CHECK: linalg.matmul ins(%[[EXAMPLES]]
// CHECK: scf.yield
// CHECK: remat.begin_backward
// CHECK: %[[LATE:.*]]:2 = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[G2:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<64x64xf32>, tensor<4x2x64xf32>)
// CHECK: remat.tape_read
// CHECK: linalg.matmul
// CHECK: linalg.generic {{.*}} outs(%[[G2]] : tensor<64x64xf32>)
// CHECK: %[[D:.*]] = linalg.matmul {{.*}} ins(%{{.*}}, %[[W2]]
// CHECK: remat.tape_write %[[D]]
// CHECK: scf.yield
// CHECK: opt.eager_step @sgd(%[[W2]], %[[LATE]]#0) {{.*}} scale
// CHECK: %[[EARLY:.*]] = scf.for
// CHECK: remat.tape_read %[[LATE]]#1
// CHECK: scf.yield
// CHECK: opt.eager_step @sgd(%[[W1]], %[[EARLY]]) {{.*}} scale
// CHECK: return
func.func @loss_grad(%w1: tensor<64x64xf32> {opt.param}, %w2: tensor<64x64xf32> {opt.param}, %x: tensor<2x64xf32>,
                     %s: tensor<2x64xf32> {remat.state = "s"})
    -> (f32 {remat.loss}, tensor<2x64xf32> {remat.state = "s"}, tensor<64x64xf32> {remat.gradient_of = 0},
        tensor<64x64xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64xf32>) -> tensor<2x64xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<2x64xf32>, tensor<64x64xf32>) outs(%z : tensor<2x64xf32>) -> tensor<2x64xf32>
  %flat = tensor.collapse_shape %h [[0, 1]] : tensor<2x64xf32> into tensor<128xf32>
  %r = math.exp %flat : tensor<128xf32>
  %y = tensor.expand_shape %r [[0, 1]] output_shape [2, 64] : tensor<128xf32> into tensor<2x64xf32>
  %n = linalg.add ins(%s, %y : tensor<2x64xf32>, tensor<2x64xf32>) outs(%e : tensor<2x64xf32>) -> tensor<2x64xf32>
  %c0 = arith.constant 0 : index
  %loss = tensor.extract %y[%c0, %c0] : tensor<2x64xf32>
  remat.begin_backward
  %ew = tensor.empty() : tensor<64x64xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<64x64xf32>) -> tensor<64x64xf32>
  %et = tensor.empty() : tensor<64x2xf32>
  %yt = linalg.transpose ins(%y : tensor<2x64xf32>) outs(%et : tensor<64x2xf32>) permutation = [1, 0]
  %dy = linalg.sub ins(%y, %s : tensor<2x64xf32>, tensor<2x64xf32>) outs(%e : tensor<2x64xf32>) -> tensor<2x64xf32>
  %g2 = linalg.matmul {remat.phase = "backward"} ins(%yt, %dy : tensor<64x2xf32>, tensor<2x64xf32>) outs(%zw : tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = linalg.matmul {remat.phase = "backward"} ins(%dy, %w2 : tensor<2x64xf32>, tensor<64x64xf32>) outs(%z : tensor<2x64xf32>) -> tensor<2x64xf32>
  %ht = linalg.transpose ins(%h : tensor<2x64xf32>) outs(%et : tensor<64x2xf32>) permutation = [1, 0]
  %g1 = linalg.matmul {remat.phase = "backward"} ins(%ht, %d : tensor<64x2xf32>, tensor<2x64xf32>) outs(%zw : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %loss, %n, %g1, %g2 : f32, tensor<2x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The border of a function's backward is no effect.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, accumulate = 2}

// CHECK-LABEL: func.func @step(
// CHECK: remat.begin_backward
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: func.call @backward
// CHECK: opt.eager_step @sgd(%arg0, %[[SUM]]
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  remat.begin_backward
  %g = call @backward(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %g : f32, tensor<4xf32>
}
func.func private @backward(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  remat.begin_backward
  %g = math.exp %x : tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// A table that the first and the last layer read: what the loop of the last one adds to its gradient is computed in the loop of the
// first one, from what it is computed of, which is smaller.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, accumulate = 4}

// CHECK-LABEL: func.func @step(
// CHECK-NOT: tensor<4x64x64xf32>
// CHECK: remat.begin_backward
// CHECK: scf.for
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<64x64xf32>)
// CHECK-NOT: linalg.matmul {{.*}} outs(%{{.*}} : tensor<64x64xf32>)
// CHECK: opt.eager_step @sgd(%arg1,
// CHECK: scf.for
// CHECK-COUNT-2: linalg.matmul {{.*}} outs(%{{.*}} : tensor<64x64xf32>)
// CHECK: linalg.add
// CHECK: opt.eager_step @sgd(%arg0,
// CHECK-NOT: tensor<4x64x64xf32>
// CHECK: return
func.func @loss_grad(%table: tensor<64x64xf32> {opt.param}, %w: tensor<64x64xf32> {opt.param}, %x: tensor<2x64xf32>)
    -> (f32 {remat.loss}, tensor<64x64xf32> {remat.gradient_of = 0}, tensor<64x64xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<2x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64xf32>) -> tensor<2x64xf32>
  %h = linalg.matmul ins(%x, %table : tensor<2x64xf32>, tensor<64x64xf32>) outs(%z : tensor<2x64xf32>) -> tensor<2x64xf32>
  %y = linalg.matmul ins(%h, %w : tensor<2x64xf32>, tensor<64x64xf32>) outs(%z : tensor<2x64xf32>) -> tensor<2x64xf32>
  %loss = tensor.extract %y[%c0, %c0] : tensor<2x64xf32>
  remat.begin_backward
  %ew = tensor.empty() : tensor<64x64xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<64x64xf32>) -> tensor<64x64xf32>
  %et = tensor.empty() : tensor<64x2xf32>
  %d = math.exp %y : tensor<2x64xf32>
  %yt = linalg.transpose ins(%y : tensor<2x64xf32>) outs(%et : tensor<64x2xf32>) permutation = [1, 0]
  %late = linalg.matmul {remat.phase = "backward"} ins(%yt, %d : tensor<64x2xf32>, tensor<2x64xf32>) outs(%zw : tensor<64x64xf32>) -> tensor<64x64xf32>
  %ht = linalg.transpose ins(%h : tensor<2x64xf32>) outs(%et : tensor<64x2xf32>) permutation = [1, 0]
  %gw = linalg.matmul {remat.phase = "backward"} ins(%ht, %d : tensor<64x2xf32>, tensor<2x64xf32>) outs(%zw : tensor<64x64xf32>) -> tensor<64x64xf32>
  %dh = linalg.matmul {remat.phase = "backward"} ins(%d, %w : tensor<2x64xf32>, tensor<64x64xf32>) outs(%z : tensor<2x64xf32>) -> tensor<2x64xf32>
  %xt = linalg.transpose ins(%x : tensor<2x64xf32>) outs(%et : tensor<64x2xf32>) permutation = [1, 0]
  %early = linalg.matmul {remat.phase = "backward"} ins(%xt, %dh : tensor<64x2xf32>, tensor<2x64xf32>) outs(%zw : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = linalg.add ins(%late, %early : tensor<64x64xf32>, tensor<64x64xf32>) outs(%ew : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %loss, %g, %gw : f32, tensor<64x64xf32>, tensor<64x64xf32>
}
