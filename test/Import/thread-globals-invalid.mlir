// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-thread-globals

ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>

func.func @no_order(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    // expected-error @+1 {{uses a global variable inside 'scf.parallel', which cannot pass its state on; load and store it outside}}
    %old = ml_program.global_load @seed : tensor<i64>
    ml_program.global_store @seed = %old : tensor<i64>
    scf.reduce
  }
  return
}

// -----

ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>

func.func @unstructured(%p: i1) {
  cf.cond_br %p, ^a, ^b
^a:
  // expected-error @+1 {{uses a global variable in unstructured control flow; convert it to scf}}
  %old = ml_program.global_load @seed : tensor<i64>
  ml_program.global_store @seed = %old : tensor<i64>
  cf.br ^b
^b:
  return
}

// -----

// expected-error @+1 {{has no initial value of its type 'tensor<i64>'; give it one}}
ml_program.global private mutable @seed : tensor<i64>

func.func @without_value() {
  %old = ml_program.global_load @seed : tensor<i64>
  ml_program.global_store @seed = %old : tensor<i64>
  return
}

// -----

ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>

// expected-error @+1 {{cannot be trained; use func.func}}
ml_program.subgraph @graph() {
  ml_program.output
}
