// RUN: remat-opt %s -split-input-file -verify-diagnostics | FileCheck %s

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
func.func private @accuracy(tensor<4xf32>) -> f32
// CHECK: remat.train_step @a for @loss optimizer(@sgd)
remat.train_step @a for @loss optimizer(@sgd)
// CHECK: remat.train_step @b for @loss optimizer(@sgd) eval(@accuracy) {data = "train.npz", eager, steps = 1000 : i64}
remat.train_step @b for @loss optimizer(@sgd) eval(@accuracy) {eager, steps = 1000, data = "train.npz"}
// CHECK: remat.train_step @c for @loss optimizer(@sgd) {accumulate = 4 : i64, clip_global_norm = 1.000000e+00 : f64, deferred}
remat.train_step @c for @loss optimizer(@sgd) {deferred, clip_global_norm = 1.0, accumulate = 4}
// CHECK: remat.train_step @e for @loss optimizer(@sgd) {accumulate = 4 : i64, eager}
remat.train_step @e for @loss optimizer(@sgd) {eager, accumulate = 4}
// CHECK: remat.train_step @d for @loss optimizer(@sgd) {clip_global_norm = 1.000000e+00 : f64, eager, grad_norm}
remat.train_step @d for @loss optimizer(@sgd) {eager, clip_global_norm = 1.0, grad_norm}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{is either eager or deferred, not both}}
remat.train_step @a for @loss optimizer(@sgd) {eager, deferred}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{clip_global_norm needs the norm of all gradients before the first update; write {deferred, clip_global_norm = ...}, which keeps all of them, or {eager, clip_global_norm = ...}, which computes them twice and keeps about one layer's, or clip each gradient by itself with 'clip_value' or 'clip_norm' of the opt.optimizer}}
remat.train_step @a for @loss optimizer(@sgd) {clip_global_norm = 1.0}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{accumulate needs the gradients of all micro-batches before an update; write {deferred, accumulate = 2}, which keeps a sum of every gradient, or {eager, accumulate = 2}, which keeps what the layers of every micro-batch pass on}}
remat.train_step @a for @loss optimizer(@sgd) {accumulate = 2}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{has no option 'log_evry'; options are eager, deferred, budget, budget_of, slowdown, clip_global_norm, clip_eps, grad_norm, accumulate, steps, seed, log_every, shuffle, data, init, checkpoint, checkpoint_every, eval_every, eval_data}}
remat.train_step @a for @loss optimizer(@sgd) {log_evry = 3}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
// expected-error @+1 {{trains @loss, but there is no such function}}
remat.train_step @a for @loss optimizer(@sgd)

// -----

func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{names @sgd, but there is no such opt.optimizer}}
remat.train_step @a for @loss optimizer(@sgd)

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{evaluates by @accuracy, but there is no such function}}
remat.train_step @a for @loss optimizer(@sgd) eval(@accuracy)

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{'checkpoint_every' must be at least 1, but got 0}}
remat.train_step @a for @loss optimizer(@sgd) {checkpoint_every = 0}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{'clip_eps' must be at least 0, but got -1}}
remat.train_step @a for @loss optimizer(@sgd) {deferred, clip_global_norm = 1.0, clip_eps = -1.0}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{'clip_global_norm' must be at least 0, but got -1}}
remat.train_step @a for @loss optimizer(@sgd) {deferred, clip_global_norm = -1.0}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// CHECK: remat.train_step @a for @loss optimizer(@sgd) {budget = "1.5GB", budget_of = "arena"}
remat.train_step @a for @loss optimizer(@sgd) {budget = "1.5GB", budget_of = "arena"}
// CHECK: remat.train_step @b for @loss optimizer(@sgd) {slowdown = 1.000000e-01 : f64}
remat.train_step @b for @loss optimizer(@sgd) {slowdown = 0.1}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{budget '5 apples' is neither a number of bytes such as 4096}}
remat.train_step @a for @loss optimizer(@sgd) {budget = "5 apples"}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{has an unknown budget_of "weights"; choose "step" or "arena"}}
remat.train_step @a for @loss optimizer(@sgd) {budget = "1MiB", budget_of = "weights"}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{says what its budget bounds, but has none; write budget = "500MiB"}}
remat.train_step @a for @loss optimizer(@sgd) {budget_of = "arena"}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{has a budget and a slowdown, each of which decides about the other; give one of them}}
remat.train_step @a for @loss optimizer(@sgd) {budget = "1MiB", slowdown = 0.1}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{'slowdown' must be from 0 to 100, but got -1}}
remat.train_step @a for @loss optimizer(@sgd) {slowdown = -1.0}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{must ask for a function other than @loss, from which it is made; choose another name}}
remat.train_step @loss for @loss optimizer(@sgd)

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-error @+1 {{must ask for a function other than @loss_grad, from which it is made; choose another name}}
remat.train_step @loss_grad for @loss optimizer(@sgd)

// -----

// A function that has nothing to do with training would silently be run instead of a step.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func private @loss(tensor<4xf32>) -> f32
// expected-note @+1 {{it is defined here}}
func.func private @step(tensor<4xf32>) -> f32
// expected-error @+1 {{asks for a function @step, but the module has one already that is no step (no argument has 'remat.step'); choose another name}}
remat.train_step @step for @loss optimizer(@sgd)

// -----

// Once the step exists, the loss and the optimizer may be gone.
func.func private @step(tensor<4xf32> {opt.param}, i64 {remat.step}) -> f32
// CHECK: remat.train_step @step for @loss optimizer(@sgd)
remat.train_step @step for @loss optimizer(@sgd)

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func @loss(%w: tensor<4xf32> {opt.param}) -> f32 {
  // expected-error @+1 {{expects parent op 'builtin.module'}}
  remat.train_step @step for @loss optimizer(@sgd)
  %zero = arith.constant 0.0 : f32
  return %zero : f32
}
