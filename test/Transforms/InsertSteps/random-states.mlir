// RUN: remat-opt %s -remat-insert-steps -split-input-file | FileCheck %s

// A random state's next value is the result that is computed from it, wherever it stands.

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @swapped for @loss optimizer(@sgd)
// CHECK-LABEL: func.func @swapped(
// CHECK-SAME: -> (f32, !remat.rng {remat.updates = 1 : i64}, !remat.rng {remat.updates = 0 : i64})
func.func @loss_grad(%a: !remat.rng, %b: !remat.rng) -> (f32, !remat.rng, !remat.rng) {
  %loss = arith.constant 0.0 : f32
  %x, %a1 = remat.random_uniform %a : tensor<4xf32>
  %y, %b1 = remat.random_uniform %b : tensor<4xf32>
  return %loss, %b1, %a1 : f32, !remat.rng, !remat.rng
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @only_the_second for @loss optimizer(@sgd)
// CHECK-LABEL: func.func @only_the_second(
// CHECK-SAME: -> (f32, !remat.rng {remat.updates = 1 : i64})
func.func @loss_grad(%a: !remat.rng, %b: !remat.rng) -> (f32, !remat.rng) {
  %loss = arith.constant 0.0 : f32
  %x, %a1 = remat.random_uniform %a : tensor<4xf32>
  %y, %b1 = remat.random_uniform %b : tensor<4xf32>
  return %loss, %b1 : f32, !remat.rng
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @through_regions_loops_and_branches for @loss optimizer(@sgd)
// CHECK-LABEL: func.func @through_regions_loops_and_branches(
// CHECK-SAME: -> (f32, !remat.rng {remat.updates = 2 : i64}, !remat.rng {remat.updates = 1 : i64}, !remat.rng {remat.updates = 0 : i64})
func.func @loss_grad(%a: !remat.rng, %b: !remat.rng, %c: !remat.rng, %flag: i1) -> (f32, !remat.rng, !remat.rng, !remat.rng) {
  %loss = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a1, %b1 = remat.region (%p = %a : !remat.rng, %q = %b : !remat.rng) -> !remat.rng, !remat.rng {
    %x, %p1 = remat.random_uniform %p : tensor<4xf32>
    %y, %q1 = remat.random_uniform %q : tensor<4xf32>
    remat.yield %p1, %q1 : !remat.rng, !remat.rng
  }
  %b2:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %c, %q = %b1) -> (!remat.rng, !remat.rng) {
    %y, %q1 = remat.random_uniform %q : tensor<4xf32>
    scf.yield %p, %q1 : !remat.rng, !remat.rng
  }
  %a2 = scf.if %flag -> !remat.rng {
    %y, %a3 = remat.random_uniform %a1 : tensor<4xf32>
    scf.yield %a3 : !remat.rng
  } else {
    scf.yield %a1 : !remat.rng
  }
  return %loss, %b2#0, %b2#1, %a2 : f32, !remat.rng, !remat.rng, !remat.rng
}

// -----

// After remat-lower-random: a key and a counter.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @lowered for @loss optimizer(@sgd)
// CHECK-LABEL: func.func @lowered(
// CHECK-SAME: -> (f32, vector<2xi64> {remat.updates = 1 : i64}, vector<2xi64>)
func.func @loss_grad(%a: vector<2xi64>, %b: vector<2xi64>) -> (f32, vector<2xi64>, vector<2xi64>) {
  %loss = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %key = vector.extract %b[0] : i64 from vector<2xi64>
  %counter = vector.extract %b[1] : i64 from vector<2xi64>
  %next = arith.addi %counter, %one : i64
  %b1 = vector.from_elements %key, %next : vector<2xi64>
  %no_state = arith.constant dense<1> : vector<2xi64>
  return %loss, %b1, %no_state : f32, vector<2xi64>, vector<2xi64>
}

// -----

// A name says more than the data flow.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @named for @loss optimizer(@sgd)
// CHECK-LABEL: func.func @named(
// CHECK-SAME: -> (f32, !remat.rng {remat.state = "noise", remat.updates = 0 : i64}, !remat.rng {remat.updates = 1 : i64})
func.func @loss_grad(%a: !remat.rng {remat.state = "noise"}, %b: !remat.rng, %c: i1) -> (f32, !remat.rng {remat.state = "noise"}, !remat.rng) {
  %loss = arith.constant 0.0 : f32
  %next = arith.select %c, %a, %b : !remat.rng
  return %loss, %next, %b : f32, !remat.rng, !remat.rng
}
