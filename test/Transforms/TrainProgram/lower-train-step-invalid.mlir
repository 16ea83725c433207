// RUN: remat-opt %s -remat-lower-train-step -split-input-file -verify-diagnostics

opt.optimizer @o = #opt.sgd<lr = 0.1>
func.func private @loss() -> f32
// expected-error @+1 {{needs the function @step; run -remat-insert-steps first}}
remat.train_step @step for @loss optimizer(@o)

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
// expected-error @+1 {{becomes a function @main, but the module has one already}}
remat.train_step @step for @loss optimizer(@o)
func.func private @step(i64 {remat.step}) -> f32
func.func private @main()

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @a for @loss optimizer(@o)
// expected-error @+1 {{is the second of this module, but there is only one @main}}
remat.train_step @b for @loss optimizer(@o)
func.func private @loss() -> f32

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @step(
    // expected-error @+1 {{argument 0 ('w') has type 'tensor<4xf32>'; a step takes i1, i8, i16, i32, i64, f16, bf16, f32, f64 and memrefs of them (bufferize first)}}
    %w: tensor<4xf32> {opt.param = "w"}, %number: i64 {remat.step}) -> f32 {
  %loss = arith.constant 0.0 : f32
  return %loss : f32
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @step(
    // expected-error @+1 {{argument 0 ('w') needs a static shape and the identity layout, since it is allocated once; got 'memref<?xf32>'}}
    %w: memref<?xf32> {opt.param = "w"}, %number: i64 {remat.step}) -> f32 {
  %loss = arith.constant 0.0 : f32
  return %loss : f32
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @step(
    // expected-error @+1 {{argument 0 ('arr_0') is data, a tensor whose first dimension counts examples or of which each step has its own, got 'f32'; a state has 'remat.state', a parameter 'opt.param'}}
    %x: f32, %number: i64 {remat.step}) -> f32 {
  return %x : f32
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @step(%w: memref<4xf32> {opt.param = "w"},
    // expected-error @+1 {{argument 1 would be called 'w' in checkpoints, but another one is called that}}
    %s: memref<4xf32> {remat.state = "w"}, %number: i64 {remat.step}) -> f32 {
  %loss = arith.constant 0.0 : f32
  return %loss : f32
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
// expected-error @+1 {{the step returns no floating-point scalar, so there is no loss to report; mark one with 'remat.loss'}}
func.func @step(%w: memref<4xf32> {opt.param = "w"}, %number: i64 {remat.step}) {
  return
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) eval(@eval)
func.func private @step(memref<4xf32> {opt.param = "w"}, i64 {remat.step}) -> f32
func.func @eval(
    // expected-error @+1 {{the evaluation needs 'v', but @step has no parameter or model state of this name}}
    %w: memref<4xf32> {opt.param = "v"}) -> f32 {
  %loss = arith.constant 0.0 : f32
  return %loss : f32
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
// expected-error @+1 {{evaluates by @eval, which returns no scalar}}
remat.train_step @step for @loss optimizer(@o) eval(@eval)
func.func private @step(memref<4xf32> {opt.param = "w"}, i64 {remat.step}) -> f32
func.func private @eval(memref<4xf32> {opt.param = "w"})

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @step(
    // expected-warning @+1 {{random state 0 draws the same numbers at every step; return its next value}}
    %rng: vector<2xi64>, %number: i64 {remat.step}) -> f32 {
  %loss = arith.constant 0.0 : f32
  return %loss : f32
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
// expected-error @+1 {{a name without tabs, newlines and NULs is needed, got "my\09data.npz"}}
remat.train_step @step for @loss optimizer(@o) {data = "my\tdata.npz"}
func.func private @step(memref<4xf32> {opt.param = "w"}, i64 {remat.step}) -> f32

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) eval(@eval)
func.func private @step(memref<4xf32> {opt.param = "w"}, i64 {remat.step}) -> f32
// expected-error @+1 {{a name without tabs, newlines and NULs is needed, got "a\09metric"}}
func.func private @eval(memref<4xf32> {opt.param = "w"}) -> (f32 {remat.metric = "a\tmetric"})

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
// expected-error @+1 {{a name without tabs, newlines and NULs is needed, got "x\00a"}}
func.func private @step(memref<4xf32> {opt.param = "x\00a"}, memref<4xf32> {opt.param = "x\00b"}, i64 {remat.step}) -> f32
