// RUN: remat-opt %s -split-input-file -remat-thread-globals | FileCheck %s

ml_program.global private mutable @seed(dense<7> : tensor<i64>) : tensor<i64>

// A caller loads the value that the called function has stored.
// CHECK-NOT: ml_program
// CHECK-LABEL: func.func private @draw(%arg0: tensor<i64>, %arg1: tensor<i64>) -> (tensor<i64>, tensor<i64>)
// CHECK: %[[NEW:.*]] = arith.addi %arg1, %arg0
// CHECK: return %[[NEW]], %[[NEW]]
func.func private @draw(%by: tensor<i64>) -> tensor<i64> {
  %old = ml_program.global_load @seed : tensor<i64>
  %new = arith.addi %old, %by : tensor<i64>
  ml_program.global_store @seed = %new : tensor<i64>
  return %new : tensor<i64>
}

// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[BY:.*]]: tensor<i64>, %[[SEED:.*]]: tensor<i64> {remat.init = dense<7> : tensor<i64>, remat.state = "seed"})
// CHECK-SAME: -> (tensor<i64>, tensor<i64> {remat.state = "seed"})
// CHECK: %[[A:.*]]:2 = call @draw(%[[BY]], %[[SEED]])
// CHECK: %[[B:.*]]:2 = call @draw(%[[A]]#0, %[[A]]#1)
// CHECK: return %[[B]]#0, %[[B]]#1
func.func @twice(%by: tensor<i64>) -> tensor<i64> {
  %a = call @draw(%by) : (tensor<i64>) -> tensor<i64>
  %b = call @draw(%a) : (tensor<i64>) -> tensor<i64>
  return %b : tensor<i64>
}

// CHECK-LABEL: func.func @in_loops_and_branches(
// CHECK-SAME: %[[SEED:[^ ]*]]: tensor<i64> {remat.init
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[STATE:.*]] = %[[SEED]]) -> (tensor<i64>)
// CHECK: %[[IF:.*]] = scf.if {{.*}} -> (tensor<i64>)
// CHECK: %[[NEXT:.*]] = arith.addi %[[STATE]], %[[STATE]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: else
// CHECK: scf.yield %[[STATE]]
// CHECK: scf.yield %[[IF]]
// CHECK: return %[[LOOP]]
func.func @in_loops_and_branches(%n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %p {
      %old = ml_program.global_load @seed : tensor<i64>
      %new = arith.addi %old, %old : tensor<i64>
      ml_program.global_store @seed = %new : tensor<i64>
    }
  }
  return
}

// -----

// A global without stores is a constant; its name stays in the location.
ml_program.global private @table(dense<[1, 2]> : tensor<2xi64>) : tensor<2xi64>
ml_program.global private mutable @never_stored(dense<3> : tensor<i64>) : tensor<i64>
ml_program.global private mutable @never_used(dense<3> : tensor<i64>) : tensor<i64>

// CHECK-LABEL: func.func @constants() -> (tensor<2xi64>, tensor<i64>)
// CHECK-DAG: %[[A:.*]] = arith.constant dense<[1, 2]>
// CHECK-DAG: %[[B:.*]] = arith.constant dense<3>
// CHECK: return %[[A]], %[[B]]
func.func @constants() -> (tensor<2xi64>, tensor<i64>) {
  %a = ml_program.global_load_const @table : tensor<2xi64>
  %b = ml_program.global_load @never_stored : tensor<i64>
  return %a, %b : tensor<2xi64>, tensor<i64>
}
