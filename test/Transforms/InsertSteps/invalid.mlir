// RUN: remat-opt %s -remat-insert-steps -split-input-file -verify-diagnostics

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{needs the joint function @loss_grad; run -remat-differentiate first, or write it: arguments and results of @loss, then gradients with 'remat.gradient_of = <argument>'}}
remat.train_step @step for @loss optimizer(@sgd)

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{the joint function needs a body of one block; use scf instead of branches}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param}) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  cf.br ^end
^end:
  %loss = arith.constant 0.0 : f32
  return %loss, %w : f32, tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{'remat.gradient_of' of result 1 is the index (i64) of one of 1 arguments, got 1 : i64}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param}) -> (f32, tensor<4xf32> {remat.gradient_of = 1}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %w : f32, tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{the gradient of argument 0 has type 'tensor<3xf32>', but the argument is a 'tensor<4xf32>'}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %g: tensor<3xf32>) -> (f32, tensor<3xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %g : f32, tensor<3xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{two results are marked as the gradient of argument 0; a tied parameter has one gradient, the sum}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param}) -> (tensor<4xf32> {remat.gradient_of = 0}, tensor<4xf32> {remat.gradient_of = 0}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{two parameters are called 'w'}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param = "w"}, %v: tensor<4xf32> {opt.param = "w"}) -> (tensor<4xf32> {remat.gradient_of = 0}) {
  return %w : tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{parameter 'w' must be a ranked tensor of floating-point numbers, but got 'f32'}}
func.func @loss_grad(%w: f32 {opt.param = "w"}) -> (f32 {remat.gradient_of = 0}) {
  return %w : f32
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{result 0 is the next value of the state "mean", but no argument holds it}}
func.func @loss_grad(%s: tensor<4xf32>) -> (tensor<4xf32> {remat.state = "mean"}) {
  return %s : tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, accumulate = 2}
// expected-error @+1 {{accumulate = 2 averages scalar results and carries states, but result 0 is a 'tensor<4xf32>'}}
func.func @loss_grad(%s: tensor<4xf32>) -> (tensor<4xf32>) {
  return %s : tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, accumulate = 2}
// expected-error @+1 {{accumulate = 2 cuts argument 0 into micro-batches, so its first dimension must be a number of examples, got 'f32'}}
func.func @loss_grad(%s: f32) -> f32 {
  return %s : f32
}

// -----

// The size of the batch must be a number.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, accumulate = 4611686018427387904}
// expected-error @+1 {{accumulate = 4611686018427387904 makes argument 0 of type 'tensor<4xf32>' too large}}
func.func @loss_grad(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}) -> (f32, tensor<4xf32> {remat.gradient_of = 1}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %w : f32, tensor<4xf32>
}

// -----

// The example is too large already.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {deferred, accumulate = 4}
// expected-error @+1 {{accumulate = 4 makes argument 0 of type 'tensor<4611686018427387904x4xf32>' too large}}
func.func @loss_grad(%x: tensor<4611686018427387904x4xf32>, %w: tensor<4xf32> {opt.param}) -> (f32, tensor<4xf32> {remat.gradient_of = 1}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %w : f32, tensor<4xf32>
}

// -----

// expected-error @+1 {{has a group for "*.bais", but no parameter has such a name; parameters are l.bias, l.weight}}
opt.optimizer @sgd = #opt.sgd<lr = 0.1> {groups = [#opt.group<"*.weight", lr = 0.2>, #opt.group<"*.bais", frozen>]}
remat.train_step @step for @loss optimizer(@sgd)
func.func @loss_grad(%w: tensor<4xf32> {opt.param = "l.weight"}, %b: tensor<4xf32> {opt.param = "l.bias"})
    -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %w : f32, tensor<4xf32>
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{no result is the next value of the state "mean"; return it, unchanged if it stays the same, with remat.state = "mean"}}
func.func @loss_grad(%s: tensor<4xf32> {remat.state = "mean"}) -> f32 {
  %loss = arith.constant 0.0 : f32
  return %loss : f32
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-note @+2 {{one of them is argument 0}}
// expected-note @+1 {{one of them is argument 1}}
func.func @loss_grad(%a: !remat.rng, %b: !remat.rng, %c: i1) -> (f32, !remat.rng) {
  %loss = arith.constant 0.0 : f32
  // expected-error @+1 {{result 1 of @loss_grad is computed from several random states, so that it may be the next value of any of them; give it and its argument the same remat.state = "name"}}
  %next = arith.select %c, %a, %b : !remat.rng
  return %loss, %next : f32, !remat.rng
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{results 1 and 2 are both the next value of argument 0; a state has one}}
func.func @loss_grad(%a: !remat.rng) -> (f32, !remat.rng, !remat.rng) {
  %loss = arith.constant 0.0 : f32
  return %loss, %a, %a : f32, !remat.rng, !remat.rng
}

// -----

opt.optimizer @own = #opt.custom<@rule, states = 1>
remat.train_step @step for @loss optimizer(@own)
// expected-note @+1 {{the rule is defined here}}
func.func private @rule(tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>, i64, f32) -> (tensor<?xf32>, tensor<?x?xf32>)
// expected-error @+1 {{cannot call @rule on 'tensor<4xf32>': the sizes of its state 's0' of type 'tensor<?x?xf32>' must be known, or those of the parameter}}
func.func @loss_grad(%w: tensor<4xf32> {opt.param}) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  return %loss, %w : f32, tensor<4xf32>
}

// -----

// Loops over micro-batches would print in another order than one loop does.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, accumulate = 2}
func.func private @print(tensor<4xf32>)
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  remat.begin_backward
  // expected-error @+1 {{accumulate = 2 cannot be eager here: this operation of the backward has effects, whose order would be another; say {deferred, accumulate = ...}}}
  call @print(%x) : (tensor<4xf32>) -> ()
  return %loss, %x : f32, tensor<4xf32>
}

// -----

// Residuals of all micro-batches are stored at once, so that their sizes must be known.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, accumulate = 2}
func.func private @chosen(tensor<4xf32>) -> tensor<?xf32> attributes {remat.pure}
func.func private @gradient(tensor<?xf32>) -> tensor<4xf32> attributes {remat.pure}
func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> (f32, tensor<4xf32> {remat.gradient_of = 0}) {
  %loss = arith.constant 0.0 : f32
  // expected-error @+1 {{accumulate = 2 cannot be eager here: the backward needs a value of type 'tensor<?xf32>' of each micro-batch, whose size is not known before it; say {deferred, accumulate = ...}}}
  %h = call @chosen(%x) : (tensor<4xf32>) -> tensor<?xf32>
  remat.begin_backward
  %g = call @gradient(%h) : (tensor<?xf32>) -> tensor<4xf32>
  return %loss, %g : f32, tensor<4xf32>
}
