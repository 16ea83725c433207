// RUN: remat-opt %s --remat-prepare-bufferization -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

// CHECK-LABEL: func.func @a_table_is_carried_in_place(
// CHECK: %[[T:.*]] = memref.alloc
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: scf.for {{.*}} iter_args(%[[IN:.*]] = %[[T]])
// CHECK: remat.scatter_add {{.*}} outs(%[[IN]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @a_table_is_carried_in_place(%u: tensor<16xf32>, %x: tensor<16xi64>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %zeros) -> tensor<64xf32> {
    %0 = remat.scatter_add ins(%u : tensor<16xf32>) outs(%t : tensor<64xf32>) {
    ^bb0(%i: index):
      %a = tensor.extract %x[%i] : tensor<16xi64>
      %at = arith.index_cast %a : i64 to index
      remat.yield %at : index
    } -> tensor<64xf32>
    scf.yield %0 : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// The body reads the old values while the new ones are written: these get
// memory of their own, and are copied at the end of the iteration.
// CHECK-LABEL: func.func @a_table_that_the_body_reads_is_not(
// CHECK: scf.for {{.*}} iter_args(%[[IN:[a-z0-9]+]] =
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy %[[IN]], %[[NEW]]
// CHECK: remat.scatter_add {{.*}} outs(%[[NEW]]
// CHECK: memref.load %[[IN]]
// CHECK: memref.copy %[[NEW]], %[[IN]]
// CHECK: scf.yield %[[IN]]
func.func @a_table_that_the_body_reads_is_not(%u: tensor<16xf32>, %n: index) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %zeros) -> tensor<16xf32> {
    %0 = remat.scatter_add ins(%u : tensor<16xf32>) outs(%t : tensor<16xf32>) {
    ^bb0(%i: index):
      %a = tensor.extract %t[%i] : tensor<16xf32>
      %b = arith.fptosi %a : f32 to i64
      %at = arith.index_cast %b : i64 to index
      remat.yield %at : index
    } -> tensor<16xf32>
    scf.yield %0 : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}
