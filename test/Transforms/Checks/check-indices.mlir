// RUN: remat-opt %s -remat-check-indices | FileCheck %s
// RUN: remat-opt %s -remat-check-indices -remat-check-indices | FileCheck %s

#id = affine_map<(t) -> (t)>
#row = affine_map<(t, d) -> (t)>
#all = affine_map<(t, d) -> (t, d)>

// CHECK-LABEL: func.func @an_index_from_data_is_checked_and_clamped
func.func @an_index_from_data_is_checked_and_clamped(%table: tensor<10x4xf32>, %tokens: tensor<3xi64>) -> tensor<3x4xf32> {
  %empty = tensor.empty() : tensor<3x4xf32>
  %0 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<3xi64>) outs(%empty : tensor<3x4xf32>) {
  ^bb0(%token: i64, %out: f32):
    // CHECK: %[[I:.*]] = arith.index_cast
    %i = arith.index_cast %token : i64 to index
    // CHECK: %[[D:.*]] = linalg.index 1
    %d = linalg.index 1 : index
    // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %[[SIZE:.*]] : index
    // CHECK-NEXT: cf.assert %[[INSIDE]], "{{.*}}check-indices.mlir:[[#@LINE+4]]:10: the index of dimension 0 is not in 0..9"
    // CHECK: %[[SAFE:.*]] = arith.minui %[[I]], %{{.*}} : index
    // CHECK: tensor.extract %{{.*}}[%[[SAFE]], %[[D]]]
    // CHECK-NOT: cf.assert
    %e = tensor.extract %table[%i, %d] : tensor<10x4xf32>
    linalg.yield %e : f32
  } -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @what_is_in_range_is_left_alone
// CHECK-NOT: cf.assert
// CHECK: return
func.func @what_is_in_range_is_left_alone(%table: tensor<10xf32>, %tokens: tensor<3xi32>, %small: tensor<3xi8>, %large: tensor<256xf32>)
    -> (tensor<3xf32>, tensor<3xf32>, f32) {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %empty = tensor.empty() : tensor<3xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%tokens : tensor<3xi32>) outs(%empty : tensor<3xf32>) {
  ^bb0(%token: i32, %out: f32):
    %low = arith.maxsi %token, %zero : i32
    %clamped = arith.minsi %low, %nine : i32
    %i = arith.index_cast %clamped : i32 to index
    %e = tensor.extract %table[%i] : tensor<10xf32>
    linalg.yield %e : f32
  } -> tensor<3xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%small : tensor<3xi8>) outs(%empty : tensor<3xf32>) {
  ^bb0(%token: i8, %out: f32):
    %i = arith.index_castui %token : i8 to index
    %e = tensor.extract %large[%i] : tensor<256xf32>
    linalg.yield %e : f32
  } -> tensor<3xf32>
  %c2 = arith.constant 2 : index
  %2 = tensor.extract %table[%c2] : tensor<10xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, f32
}

// CHECK-LABEL: func.func @a_size_that_is_not_known_is_asked_for_outside
// CHECK: %[[SIZE:.*]] = tensor.dim
// CHECK: linalg.generic
// CHECK: arith.cmpi ult, %{{.*}}, %[[SIZE]] : index
// CHECK: cf.assert %{{.*}}, "{{.*}}: the index of dimension 0 is not in the tensor"
// CHECK-NOT: cf.assert
func.func @a_size_that_is_not_known_is_asked_for_outside(%table: tensor<?xf32>, %tokens: tensor<?xi64>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%tokens : tensor<?xi64>) outs(%out : tensor<?xf32>) {
  ^bb0(%token: i64, %o: f32):
    %i = arith.index_cast %token : i64 to index
    %e = tensor.extract %table[%i] : tensor<?xf32>
    linalg.yield %e : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @outside_of_kernels
// CHECK: cf.assert %{{.*}}, "{{.*}}: the index of dimension 0 is not in 0..9"
// CHECK: arith.minui
func.func @outside_of_kernels(%table: tensor<10xf32>, %token: tensor<index>) -> f32 {
  %i = tensor.extract %token[] : tensor<index>
  %e = tensor.extract %table[%i] : tensor<10xf32>
  return %e : f32
}

// CHECK-LABEL: func.func @where_an_element_is_written
// CHECK: cf.assert %{{.*}}, "{{.*}}: the index of dimension 0 is not in the tensor"
// CHECK: %[[SAFE:.*]] = arith.minui
// CHECK: tensor.insert %{{.*}}[%[[SAFE]]]
func.func @where_an_element_is_written(%x: tensor<?xf32>, %v: f32, %token: tensor<index>) -> tensor<?xf32> {
  %i = tensor.extract %token[] : tensor<index>
  %0 = tensor.insert %v into %x[%i] : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @the_last_slice_ends_with_the_tensor
// CHECK: %[[COUNT:.*]] = arith.constant 6 : index
// CHECK: arith.cmpi ult, %{{.*}}, %[[COUNT]] : index
// CHECK: cf.assert %{{.*}}, "{{.*}}: the index of dimension 0 is not in 0..5"
// CHECK: %[[SAFE:.*]] = arith.minui
// CHECK: tensor.extract_slice %{{.*}}[%[[SAFE]]] [3] [2]
func.func @the_last_slice_ends_with_the_tensor(%x: tensor<10xf32>, %token: tensor<i64>) -> tensor<3xf32> {
  %t = tensor.extract %token[] : tensor<i64>
  %i = arith.index_cast %t : i64 to index
  %0 = tensor.extract_slice %x[%i] [3] [2] : tensor<10xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @a_tensor_that_is_too_small_has_no_slice
// CHECK: %[[SIZE:.*]] = tensor.dim
// CHECK: %[[LEFT:.*]] = arith.subi %[[SIZE]], %{{.*}} : index
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[LEFT]], %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %[[COUNT]] : index
// CHECK: cf.assert %[[INSIDE]]
// CHECK: tensor.extract_slice
func.func @a_tensor_that_is_too_small_has_no_slice(%x: tensor<?xf32>, %token: tensor<index>) -> tensor<3xf32> {
  %i = tensor.extract %token[] : tensor<index>
  %0 = tensor.extract_slice %x[%i] [3] [1] : tensor<?xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @a_slice_that_runs_backwards
// CHECK: %[[I:.*]] = tensor.extract %
// CHECK: %[[BEFORE:.*]] = arith.constant 3 : index
// CHECK: %[[FIRST:.*]] = arith.subi %[[I]], %[[BEFORE]] : index
// CHECK: %[[COUNT:.*]] = arith.constant 5 : index
// CHECK: arith.cmpi ult, %[[FIRST]], %[[COUNT]] : index
// CHECK: cf.assert %{{.*}}, "{{.*}}: the index of dimension 0 is not in 3..7"
// CHECK: %[[CLAMPED:.*]] = arith.minui %[[FIRST]], %{{.*}} : index
// CHECK: %[[SAFE:.*]] = arith.addi %[[CLAMPED]], %[[BEFORE]] : index
// CHECK: tensor.extract_slice %{{.*}}[%[[SAFE]]] [4] [-1]
func.func @a_slice_that_runs_backwards(%x: tensor<8xf32>, %token: tensor<index>) -> tensor<4xf32> {
  %i = tensor.extract %token[] : tensor<index>
  %0 = tensor.extract_slice %x[%i] [4] [-1] : tensor<8xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @offsets_that_are_computed_are_left_alone
// CHECK-NOT: cf.assert
// CHECK: return
func.func @offsets_that_are_computed_are_left_alone(%x: tensor<10xf32>, %n: index) -> tensor<3xf32> {
  %c2 = arith.constant 2 : index
  %i = arith.divui %n, %c2 : index
  %0 = tensor.extract_slice %x[%i] [3] [1] : tensor<10xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @positions_of_a_scatter
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[I:.*]] = tensor.extract %{{.*}}[%[[K]], %{{.*}}]
// CHECK: cf.assert %{{.*}}, "{{.*}}: the index of dimension 1 is not in 0..7"
// CHECK: tensor.insert_slice
func.func @positions_of_a_scatter(%s: tensor<5x4xf32>, %d: tensor<4x8xf32>, %at: tensor<5x1xindex>) -> tensor<4x8xf32> {
  %0 = tensor.scatter %s into %d[%at] scatter_dims([1]) unique : (tensor<5x4xf32>, tensor<4x8xf32>, tensor<5x1xindex>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @a_size_that_a_cast_claims
// CHECK: %[[SIZE:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?x?x5xf32>
// CHECK: %[[RIGHT:.*]] = arith.cmpi eq, %[[SIZE]], %{{.*}} : index
// CHECK: cf.assert %[[RIGHT]], "{{.*}}: the size of dimension 1 is not 7"
// CHECK: tensor.cast
func.func @a_size_that_a_cast_claims(%x: tensor<?x?x5xf32>) -> tensor<?x7x?xf32> {
  %0 = tensor.cast %x : tensor<?x?x5xf32> to tensor<?x7x?xf32>
  return %0 : tensor<?x7x?xf32>
}

// A shape that is data has as many elements as what gets it. One that is computed from sizes is right.
// CHECK-LABEL: func @reshape(
// CHECK-SAME: %[[X:.*]]: tensor<2x?xf32>, %[[S:.*]]: tensor<2xi32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]]
// CHECK: %[[THERE:.*]] = arith.muli %{{.*}}, %[[N]]
// CHECK: %[[SIZE:.*]] = tensor.extract %[[S]]
// CHECK: arith.cmpi sge
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}}, %[[THERE]]
// CHECK: %[[FITS:.*]] = arith.andi %[[SAME]]
// CHECK: cf.assert %[[FITS]], "{{.*}}check-indices.mlir:[[#@LINE+3]]:{{[0-9]+}}: the tensor has another number of elements than its new shape"
// CHECK: tensor.reshape %[[X]](%[[S]])
func.func @reshape(%x: tensor<2x?xf32>, %s: tensor<2xi32>) -> tensor<?x3xf32> {
  %y = tensor.reshape %x(%s) : (tensor<2x?xf32>, tensor<2xi32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// CHECK-LABEL: func @reshape_to_static(
// CHECK: cf.assert
// CHECK: tensor.reshape
func.func @reshape_to_static(%x: tensor<2x?xf32>, %s: tensor<1xi32>) -> tensor<8xf32> {
  %y = tensor.reshape %x(%s) : (tensor<2x?xf32>, tensor<1xi32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// CHECK-LABEL: func @computed_reshape(
// CHECK-NOT: cf.assert
// CHECK: tensor.reshape
func.func @computed_reshape(%x: tensor<2x?xf32>, %n: index) -> tensor<?xf32> {
  %s = tensor.from_elements %n : tensor<1xindex>
  %y = tensor.reshape %x(%s) : (tensor<2x?xf32>, tensor<1xindex>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
