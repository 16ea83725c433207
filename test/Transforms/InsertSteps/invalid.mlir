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
// expected-error @+1 {{parameter 'w' is a ranked tensor of floating-point numbers, got 'f32'}}
func.func @loss_grad(%w: f32 {opt.param = "w"}) -> (f32 {remat.gradient_of = 0}) {
  return %w : f32
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
// expected-error @+1 {{result 0 is the next value of the model state "mean", but no argument holds it}}
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
