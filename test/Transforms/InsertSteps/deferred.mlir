// RUN: remat-opt %s -remat-insert-steps -split-input-file | FileCheck %s

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred}
func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @use(tensor<4xf32>)

// CHECK-LABEL: func.func @step(
// CHECK: %[[G:.*]] = call @grad
// CHECK-NEXT: call @use
// CHECK-NEXT: %[[LATE:.*]] = remat.barrier %[[G]]
// CHECK-NEXT: opt.eager_step @sgd(%arg0, %[[LATE]])
// CHECK-NEXT: return
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  %g = call @grad(%w) : (tensor<4xf32>) -> tensor<4xf32>
  call @use(%x) : (tensor<4xf32>) -> ()
  return %loss, %g : f32, tensor<4xf32>
}

// -----

// The norm of all gradients is known before the first step.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, clip_global_norm = 2.0}

// CHECK-LABEL: func.func @step(
// CHECK: %[[S0:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%arg2 : tensor<4xf32>)
// CHECK: %[[S1:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%arg3 : tensor<2x2xf32>)
// CHECK: %[[NORM:.*]] = math.sqrt
// CHECK: %[[EPS:.*]] = arith.constant {{.*}}9.9999999999999995E-7 : f64
// CHECK: %[[SAFE:.*]] = arith.addf %[[NORM]], %[[EPS]]
// CHECK: %[[LIMIT:.*]] = arith.constant {{.*}}2.000000e+00 : f64
// CHECK: %[[FACTOR:.*]] = arith.divf %[[LIMIT]], %[[SAFE]]
// CHECK: %[[SCALE:.*]] = arith.minimumf %[[FACTOR]]
// CHECK: opt.eager_step @sgd(%arg0, %arg2) step %{{.*}} scale %[[SCALE]]
// CHECK: opt.eager_step @sgd(%arg1, %arg3) step %{{.*}} scale %[[SCALE]]
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %v: tensor<2x2xf32> {opt.param}, %x: tensor<4xf32>, %y: tensor<2x2xf32>)
    -> (f32, tensor<4xf32> {remat.gradient_of = 0}, tensor<2x2xf32> {remat.gradient_of = 1}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %x, %y : f32, tensor<4xf32>, tensor<2x2xf32>
}

// -----

// The number that is added to the norm is an option.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, clip_global_norm = 2.0, clip_eps = 0.0}

// CHECK-LABEL: func.func @step(
// CHECK: %[[NORM:.*]] = math.sqrt
// CHECK: %[[EPS:.*]] = arith.constant {{.*}}0.000000e+00 : f64
// CHECK: arith.addf %[[NORM]], %[[EPS]]
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %x : f32, tensor<4xf32>
}

// -----

// Micro-batches: data in slices, states from one to the next, means of scalars.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, accumulate = 4}
func.func private @grad(tensor<2x3xbf16>, vector<2xi64>, tensor<3xbf16>) -> (tensor<3xbf16>, vector<2xi64>, tensor<3xbf16>, tensor<f32>)

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:.*]]: tensor<3xbf16> {bufferization.writable = true, opt.param}
// CHECK-SAME: %[[X:.*]]: tensor<8x3xbf16> {bufferization.writable = false}
// CHECK-SAME: %[[RNG:.*]]: vector<2xi64>
// CHECK-SAME: %[[S:.*]]: tensor<3xbf16> {bufferization.writable = true, remat.state = "s"}
// CHECK: %[[SUM:.*]] = linalg.fill {{.*}} outs(%{{.*}} : tensor<3xf32>)
// CHECK: %[[LOOP:.*]]:4 = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[L:.*]] = %{{.*}}, %[[R:.*]] = %[[RNG]], %[[T:.*]] = %[[S]], %[[A:.*]] = %[[SUM]])
// CHECK: %[[AT:.*]] = arith.muli %[[I]]
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[X]][%[[AT]], 0] [2, 3] [1, 1]
// CHECK: %[[G:.*]]:4 = func.call @grad(%[[SLICE]], %[[R]], %[[T]])
// CHECK: %[[A1:.*]] = linalg.generic {{.*}} ins(%[[G]]#0 : tensor<3xbf16>) outs(%[[A]] : tensor<3xf32>) attrs = {remat.phase = "backward"}
// CHECK: %[[E:.*]] = tensor.extract %[[G]]#3[]
// CHECK: %[[L1:.*]] = arith.addf %[[L]], %[[E]]
// CHECK: scf.yield %[[L1]], %[[G]]#1, %[[G]]#2, %[[A1]]
// CHECK: %[[MEAN:.*]] = arith.mulf %[[LOOP]]#0
// CHECK: %[[LOSS:.*]] = tensor.from_elements %[[MEAN]]
// CHECK: %[[SCALE:.*]] = arith.constant {{.*}}2.500000e-01 : f64
// CHECK: %[[W1:.*]] = opt.eager_step @sgd(%[[W]], %[[LOOP]]#3) step %{{.*}} scale %[[SCALE]]
// CHECK: %[[S1:.*]] = bufferization.materialize_in_destination %[[LOOP]]#2 in %[[S]]
// CHECK: return %[[LOSS]], %[[LOOP]]#1, %[[S1]], %[[W1]]
func.func @loss_grad(%w: tensor<3xbf16> {opt.param}, %x: tensor<2x3xbf16>, %rng: vector<2xi64>, %s: tensor<3xbf16> {remat.state = "s"})
    -> (tensor<f32>, vector<2xi64>, tensor<3xbf16> {remat.state = "s"}, tensor<3xbf16> {remat.gradient_of = 0}) {
  %g:4 = call @grad(%x, %rng, %s) : (tensor<2x3xbf16>, vector<2xi64>, tensor<3xbf16>) -> (tensor<3xbf16>, vector<2xi64>, tensor<3xbf16>, tensor<f32>)
  return %g#3, %g#1, %g#2, %g#0 : tensor<f32>, vector<2xi64>, tensor<3xbf16>, tensor<3xbf16>
}

// -----

// Two ways to train one loss; with drop-loss, the loss itself goes.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @eagerly for @loss optimizer(@sgd)
remat.train_step @later for @loss optimizer(@sgd) {deferred}
// CHECK-DAG: func.func @eagerly(
// CHECK-DAG: func.func @later(
// CHECK-NOT: func.func @loss_grad
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %x : f32, tensor<4xf32>
}
