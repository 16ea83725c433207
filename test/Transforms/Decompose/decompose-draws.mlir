// RUN: remat-opt %s -remat-decompose -remat-thread-rng | FileCheck %s

// A loop of scf takes the state from iteration to iteration.
// CHECK-LABEL: func @draws_in_iterations(
// CHECK-SAME:      %[[RNG:.*]]: !remat.rng {remat.seed = 3 : i64}
// CHECK:         %[[Y:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}}, %[[R:.*]] = %[[RNG]])
// CHECK:           %{{.*}}, %[[NEXT:.*]] = remat.random_normal %[[R]]
// CHECK:           scf.yield %{{.*}}, %[[NEXT]]
// CHECK:         return %[[Y]]#0, %[[Y]]#1
remat.generator @g seed(3)
func.func @draws_in_iterations() -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
    %rng = remat.get_rng @g
    %n, %next = remat.random_normal %rng : tensor<1x8xf32>
    remat.set_rng @g, %next
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %n into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return %y : tensor<4x8xf32>
}
