// No pass of upstream merges destinations or moves them out of loops; those
// that nothing uses go.
// RUN: remat-opt %s -cse -loop-invariant-code-motion -canonicalize -sccp -cse | FileCheck %s

// CHECK-LABEL: func.func @equal_ones(
// CHECK: %[[A:.*]] = remat.destination() : tensor<4xf32>
// CHECK: linalg.exp {{.*}} outs(%[[A]] :
// CHECK: %[[B:.*]] = remat.destination() : tensor<4xf32>
// CHECK: linalg.log {{.*}} outs(%[[B]] :
// CHECK-NOT: remat.destination
// CHECK: return
func.func @equal_ones(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = remat.destination() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  %b = remat.destination() : tensor<4xf32>
  %1 = linalg.log ins(%x : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
  %unused = remat.destination() : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @in_a_loop(
// CHECK: scf.for
// CHECK-NEXT: remat.destination
func.func @in_a_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %e = remat.destination() : tensor<4xf32>
    %0 = linalg.exp ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
