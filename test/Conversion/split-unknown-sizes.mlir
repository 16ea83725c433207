// RUN: remat-opt %s --remat-split-unknown-sizes --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-split-unknown-sizes --expand-strided-metadata --split-input-file -o /dev/null

// CHECK: #[[TIMES:.*]] = affine_map<()[s0] -> (s0 * 4)>
// CHECK-LABEL: func @splits(
// CHECK: %[[STRIDE:.*]] = affine.apply #[[TIMES]]()[%arg2]
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%arg1, %arg2, 4], strides: [%[[STRIDE]], 4, 1] : memref<f32> to memref<?x?x4xf32>
func.func @splits(%x: memref<?x4xf32>, %n: index, %m: index) -> memref<?x?x4xf32> {
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%n, %m, 4] : memref<?x4xf32> into memref<?x?x4xf32>
  return %y : memref<?x?x4xf32>
}

// -----

// Of a part of something: from there on, and with its strides.
// CHECK-LABEL: func @splits_a_part(
// CHECK: %{{.*}}, %[[OFFSET:.*]], %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%[[OFFSET]]], sizes: [%arg1, 2, %arg2, %arg3], strides: [%{{.*}}, %{{.*}}, %[[STRIDES]]#0, 1]
func.func @splits_a_part(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %n: index, %m: index, %k: index)
    -> memref<?x2x?x?xf32, strided<[?, ?, ?, 1], offset: ?>> {
  %y = memref.expand_shape %x [[0, 1, 2], [3]] output_shape [%n, 2, %m, %k]
      : memref<?x?xf32, strided<[?, 1], offset: ?>> into memref<?x2x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
  return %y : memref<?x2x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
}

// -----

// CHECK-LABEL: func @must_leave_one_unknown_size(
// CHECK: memref.expand_shape
func.func @must_leave_one_unknown_size(%x: memref<?xf32>, %n: index) -> memref<?x4xf32> {
  %y = memref.expand_shape %x [[0, 1]] output_shape [%n, 4] : memref<?xf32> into memref<?x4xf32>
  return %y : memref<?x4xf32>
}
