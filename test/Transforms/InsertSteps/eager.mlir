// RUN: remat-opt %s -remat-insert-steps -split-input-file -verify-diagnostics | FileCheck %s

opt.optimizer @adam = #opt.adam<lr = 0.1>
remat.train_step @step for @loss optimizer(@adam)
func.func private @loss(tensor<4xf32>) -> f32
func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @use(tensor<4xf32>)

// Each gradient is used where it becomes final, and nowhere else. The random
// state, which is no tensor, is marked as well.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W1:.*]]: tensor<4xf32> {bufferization.writable = true, opt.param = "w1"}
// CHECK-SAME: %[[W2:.*]]: tensor<4xf32> {bufferization.writable = true, opt.param}
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {bufferization.writable = false}
// CHECK-SAME: %[[RNG:.*]]: vector<2xi64>,
// CHECK-SAME: %[[M1:.*]]: tensor<4xf32> {bufferization.writable = true, opt.state = "m", opt.state_of = 0 : i64}
// CHECK-SAME: %[[V1:.*]]: tensor<4xf32> {bufferization.writable = true, opt.state = "v", opt.state_of = 0 : i64}
// CHECK-SAME: %[[M2:.*]]: tensor<4xf32> {bufferization.writable = true, opt.state = "m", opt.state_of = 1 : i64}
// CHECK-SAME: %[[V2:.*]]: tensor<4xf32> {bufferization.writable = true, opt.state = "v", opt.state_of = 1 : i64}
// CHECK-SAME: %[[T:.*]]: i64 {remat.step})
// CHECK-SAME: -> (f32 {remat.loss}, vector<2xi64> {remat.updates = 3 : i64},
// CHECK-SAME: tensor<4xf32> {remat.updates = 0 : i64}, tensor<4xf32> {remat.updates = 4 : i64}, tensor<4xf32> {remat.updates = 5 : i64},
// CHECK-SAME: tensor<4xf32> {remat.updates = 1 : i64}, tensor<4xf32> {remat.updates = 6 : i64}, tensor<4xf32> {remat.updates = 7 : i64})
// CHECK-SAME: llvm.emit_c_interface
// CHECK: %[[G2:.*]] = call @grad(%[[W2]])
// CHECK-NEXT: opt.eager_step @adam(%[[W2]], %[[G2]], %[[M2]], %[[V2]]) step %[[T]] {parameter = "arg1", remat.phase = "update"}
// CHECK-NEXT: %[[G1:.*]] = call @grad(%[[X]])
// CHECK-NEXT: opt.eager_step @adam(%[[W1]], %[[G1]], %[[M1]], %[[V1]]) step %[[T]] {parameter = "w1", remat.phase = "update"}
// CHECK-NEXT: call @use(%[[X]])
// CHECK-NEXT: return
// CHECK-NOT: @loss_grad
func.func @loss_grad(%w1: tensor<4xf32> {opt.param = "w1"}, %w2: tensor<4xf32> {opt.param}, %x: tensor<4xf32>, %rng: vector<2xi64>)
    -> (f32 {remat.loss}, vector<2xi64>, tensor<4xf32> {remat.gradient_of = 0}, tensor<4xf32> {remat.gradient_of = 1}) {
  %loss = arith.constant 0.0 : f32
  call @use(%w1) : (tensor<4xf32>) -> ()
  %g2 = call @grad(%w2) : (tensor<4xf32>) -> tensor<4xf32>
  %g1 = call @grad(%x) : (tensor<4xf32>) -> tensor<4xf32>
  call @use(%x) : (tensor<4xf32>) -> ()
  return %loss, %rng, %g1, %g2 : f32, vector<2xi64>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A recomputed product reads the weight through a barrier, after the weight's
// gradient is final: the step waits for it.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
func.func private @grad(tensor<4x4xf32>) -> tensor<4x4xf32>

// CHECK-LABEL: func.func @step(%arg0: tensor<4x4xf32>
// CHECK: %[[G:.*]] = call @grad
// CHECK-NOT: opt.eager_step
// CHECK: %[[B:.*]] = remat.barrier %arg0
// CHECK-NOT: opt.eager_step
// CHECK: linalg.matmul {remat.phase = "recompute"} ins(%arg1, %[[B]]
// CHECK-NEXT: opt.eager_step @sgd(%arg0, %[[G]])
func.func @loss_grad(%w: tensor<4x4xf32> {opt.param}, %x: tensor<4x4xf32>)
    -> (tensor<f32>, tensor<4x4xf32> {remat.gradient_of = 0}) {
  %loss = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<4x4xf32>
  %g = call @grad(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = remat.barrier %w after %g : tensor<4x4xf32> after tensor<4x4xf32>
  %h = linalg.matmul {remat.phase = "recompute"} ins(%x, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = call @grad(%h) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %g : tensor<f32>, tensor<4x4xf32>
}

// -----

// Reads through views, in loops that carry the weight, and inside calls count.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @read(tensor<2xf32>)
func.func private @first_half(%w: tensor<4xf32>, %unused: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %s = tensor.extract_slice %w[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %s, %unused : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @step(
// CHECK: %[[H:.*]]:2 = call @first_half(%arg0
// CHECK: call @read(%[[H]]#0)
// CHECK-NEXT: opt.eager_step @sgd(%arg0, %{{.*}}) step %{{.*}} {parameter = "called"
// CHECK-NEXT: call @read(%[[H]]#1)
// CHECK: scf.for
// CHECK: }
// CHECK: scf.if
// CHECK: }
// CHECK-NOT: opt.eager_step
// CHECK: call @read
// CHECK-NEXT: opt.eager_step @sgd(%arg1, %{{.*}}) step %{{.*}} {parameter = "carried"
func.func @loss_grad(%w: tensor<4xf32> {opt.param = "called"}, %c: tensor<4xf32> {opt.param = "carried"}, %x: tensor<2xf32>, %p: i1)
    -> (f32, tensor<4xf32> {remat.gradient_of = 0}, tensor<4xf32> {remat.gradient_of = 1}) {
  %loss = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %g = call @grad(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %g2 = call @grad(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %h:2 = call @first_half(%w, %x) : (tensor<4xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  call @read(%h#0) : (tensor<2xf32>) -> ()
  call @read(%h#1) : (tensor<2xf32>) -> ()
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %c) -> tensor<4xf32> {
    scf.yield %a : tensor<4xf32>
  }
  %b = scf.if %p -> tensor<4xf32> {
    scf.yield %l : tensor<4xf32>
  } else {
    %e = tensor.empty() : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  %s = tensor.extract_slice %b[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
  call @read(%s) : (tensor<2xf32>) -> ()
  call @read(%x) : (tensor<2xf32>) -> ()
  return %loss, %g, %g2 : f32, tensor<4xf32>, tensor<4xf32>
}

// -----

// A gradient that a loop accumulates is final after the loop; a read in a later
// loop, of a weight that it captures, holds the step back beyond that loop.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
func.func private @add(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func private @read(tensor<4xf32>)

// CHECK-LABEL: func.func @step(
// CHECK: %[[G:.*]] = scf.for
// CHECK-NOT: opt.eager_step
// CHECK: }
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @read(%arg0)
// CHECK-NEXT: }
// CHECK-NEXT: opt.eager_step @sgd(%arg0, %[[G]])
// CHECK-NEXT: call @read(%arg1)
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %g = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %n = func.call @add(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  scf.for %i = %c0 to %c3 step %c1 {
    func.call @read(%w) : (tensor<4xf32>) -> ()
  }
  call @read(%x) : (tensor<4xf32>) -> ()
  return %loss, %g : f32, tensor<4xf32>
}

// -----

// A new buffer is no read of the old one: the step need not wait for its users.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
func.func private @read(tensor<4x4xf32>)

// CHECK-LABEL: func.func @step(
// CHECK: linalg.transpose
// CHECK-NEXT: opt.eager_step
// CHECK-NEXT: call @read
func.func @loss_grad(%w: tensor<4x4xf32> {opt.param}, %x: tensor<4x4xf32>) -> (f32, tensor<4x4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %t = linalg.transpose ins(%w : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  func.call @read(%t) : (tensor<4x4xf32>) -> ()
  return %loss, %x : f32, tensor<4x4xf32>
}

// -----

// Model states are written into their arguments; frozen parameters, and those
// without a gradient, stay as they are, and their dead backward goes.

opt.optimizer @sgd = #opt.sgd<lr = 0.1> {groups = [#opt.group<"embed*", frozen>]}
remat.train_step @step for @loss optimizer(@sgd)
func.func private @next(tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<4xf32> {bufferization.writable = false, opt.param = "embed"}
// CHECK-SAME: tensor<4xf32> {bufferization.writable = false, opt.param = "unused"}
// CHECK-SAME: %[[S:[^ ]*]]: tensor<4xf32> {bufferization.writable = true, remat.state = "mean"}
// CHECK-SAME: i64 {remat.step})
// CHECK-SAME: -> (f32, tensor<4xf32> {remat.state = "mean", remat.updates = 2 : i64})
// CHECK-NOT: linalg.add
// CHECK: %[[N:.*]] = call @next
// CHECK-NEXT: %[[R:.*]] = bufferization.materialize_in_destination %[[N]] in %[[S]] {remat.phase = "update"}
// CHECK-NEXT: return %{{.*}}, %[[R]]
func.func @loss_grad(
    // expected-remark @+1 {{parameter 'embed' is frozen by a group of @sgd: left alone}}
    %w: tensor<4xf32> {opt.param = "embed"},
    // expected-warning @+1 {{parameter 'unused' has no gradient: left alone}}
    %u: tensor<4xf32> {opt.param = "unused"},
    %s: tensor<4xf32> {remat.state = "mean"},
    // expected-remark @+1 {{argument 3 has a gradient, but no 'opt.param': left alone}}
    %x: tensor<4xf32>)
    -> (f32, tensor<4xf32> {remat.state = "mean"}, tensor<4xf32> {remat.gradient_of = 0}, tensor<4xf32> {remat.gradient_of = 3}) {
  %loss = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %g = linalg.add ins(%w, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = call @next(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return %loss, %n, %g, %g : f32, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The old value as a result of the loss: legal, but it costs a copy.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// CHECK-LABEL: func.func @step(
// CHECK: opt.eager_step
// expected-warning @+1 {{the old value of parameter 'w' is a result of the step, so that its update needs a copy}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param = "w"}, %x: tensor<4xf32>) -> (f32, tensor<4xf32>, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %w, %x : f32, tensor<4xf32>, tensor<4xf32>
}
