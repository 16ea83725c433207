// RUN: remat-opt %s -remat-prepare-bufferization | FileCheck %s
// RUN: remat-opt %s -remat-bufferize | FileCheck %s --check-prefix=BUFFER

// A loop that exchanges carried values reads both before it writes either.
// CHECK-LABEL: func.func @exchange(
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}})
// CHECK-DAG: %[[B1:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK-DAG: %[[A1:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<4xf32>
// CHECK-NOT: alloc_tensor
// CHECK: %[[NA:.*]] = bufferization.materialize_in_destination %[[B1]] in %[[A]]
// CHECK: %[[NB:.*]] = bufferization.materialize_in_destination %[[A1]] in %[[B]]
// CHECK: scf.yield %[[NA]], %[[NB]],

// BUFFER-LABEL: func.func @exchange(
// BUFFER: scf.for
// BUFFER-COUNT-4: memref.copy
func.func @exchange(%n: index, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b, %z = %c) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %v = tensor.expand_shape %x [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    %w = tensor.collapse_shape %v [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    scf.yield %y, %w, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
