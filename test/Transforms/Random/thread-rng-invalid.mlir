// RUN: remat-opt %s -remat-thread-rng -split-input-file -verify-diagnostics

func.func @no_generator() {
  // expected-error @+1 {{mentions @g, which is no remat.generator}}
  %0 = remat.get_rng @g
  return
}

// -----

remat.generator @g seed(1)
func.func @a_loop_without_an_order(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    // expected-error @+1 {{uses a random generator inside 'scf.parallel', which cannot pass its state on; draw from a remat.rng_fold_in of a state and the index}}
    %0 = remat.get_rng @g
    remat.set_rng @g, %0
  }
  return
}

// -----

remat.generator @g seed(1)
func.func @a_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.map ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) (%in: f32, %out: f32) {
    // expected-error @+1 {{uses a random generator inside 'linalg.map', which cannot pass its state on; draw outside of it}}
    %1 = remat.get_rng @g
    linalg.yield %in : f32
  }
  return %0 : tensor<4xf32>
}

// -----

remat.generator @g seed(1)
func.func @a_loop_of_another_dialect() {
  affine.for %i = 0 to 4 {
    // expected-error @+1 {{uses a random generator inside 'affine.for', which cannot pass its state on; draw outside of it and pass the state as an operand, or, if it is a loop or a branch, let remat-decompose make one of scf of it}}
    %0 = remat.get_rng @g
    remat.set_rng @g, %0
  }
  return
}

// -----

remat.generator @g seed(1)
func.func @branches(%c: i1) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  // expected-error @+1 {{uses a random generator in unstructured control flow; convert it to scf}}
  %0 = remat.get_rng @g
  remat.set_rng @g, %0
  cf.br ^bb2
^bb2:
  return
}

// -----

remat.generator @g seed(1)
func.func @differentiated(%x: tensor<4xf32>) {
  %0 = remat.region (%a = %x : tensor<4xf32>) residuals(tensor<4xf32>) {
    // expected-error @+1 {{uses a random generator in a differentiated region; run this pass before remat-differentiate}}
    %1 = remat.get_rng @g
    remat.set_rng @g, %1
    remat.yield residuals(%a : tensor<4xf32>)
  }
  return
}

// -----

remat.generator @g seed(1)
// expected-note @+1 {{the function}}
func.func @drawing() {
  %0 = remat.get_rng @g
  remat.set_rng @g, %0
  return
}
func.func @a_user_that_is_no_call() -> (() -> ()) {
  // expected-error @+1 {{uses @drawing, which uses a random generator; only a call can pass its state on}}
  %0 = func.constant @drawing : () -> ()
  return %0 : () -> ()
}

// -----

// expected-warning @+1 {{is read by remat.get_rng but never advanced by remat.set_rng: every draw from it gives the same numbers}}
remat.generator @g seed(1)
func.func @never_advanced() -> tensor<4xf32> {
  %0 = remat.get_rng @g
  %u, %next = remat.random_uniform %0 : tensor<4xf32>
  return %u : tensor<4xf32>
}
