// RUN: remat-opt %s --remat-fold --split-input-file | FileCheck %s

// CHECK-DAG: #[[$OUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$WEIGHT:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func @reads_a_weight_as_it_lies(
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>, %[[W:.*]]: tensor<64x16xf32>
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[$WEIGHT]], #[[$OUT]]]
// CHECK-SAME: ins(%[[X]], %[[W]]
// CHECK-SAME: kept
func.func @reads_a_weight_as_it_lies(%x: tensor<8x16xf32>, %w: tensor<64x16xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x64xf32>
  %t = linalg.transpose ins(%w : tensor<64x16xf32>) outs(%e : tensor<16x64xf32>) permutation = [1, 0]
  %f = tensor.empty() : tensor<8x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.matmul {kept} ins(%x, %t : tensor<8x16xf32>, tensor<16x64xf32>) outs(%z : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// Heads: transposed, collapsed with the batch, multiplied, expanded and transposed back.
// CHECK-DAG: #[[$V:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3)>
// CHECK-DAG: #[[$P:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[$C:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3)>
// CHECK-LABEL: func @gives_heads_their_loops(
// CHECK-SAME: %[[P:.*]]: tensor<2x4x12x12xf32>, %[[V:.*]]: tensor<2x12x4x8xf32>
// CHECK-NOT: linalg.transpose
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[$P]], #[[$V]], #[[$C]]]
// CHECK-SAME: ins(%[[P]], %[[V]]
// CHECK: return %[[Y]] : tensor<2x12x4x8xf32>
func.func @gives_heads_their_loops(%p: tensor<2x4x12x12xf32>, %v: tensor<2x12x4x8xf32>) -> tensor<2x12x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x12x8xf32>
  %t = linalg.transpose ins(%v : tensor<2x12x4x8xf32>) outs(%e : tensor<2x4x12x8xf32>) permutation = [0, 2, 1, 3]
  %pc = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<2x4x12x12xf32> into tensor<8x12x12xf32>
  %vc = tensor.collapse_shape %t [[0, 1], [2], [3]] : tensor<2x4x12x8xf32> into tensor<8x12x8xf32>
  %f = tensor.empty() : tensor<8x12x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x12x8xf32>) -> tensor<8x12x8xf32>
  %c = linalg.batch_matmul ins(%pc, %vc : tensor<8x12x12xf32>, tensor<8x12x8xf32>) outs(%z : tensor<8x12x8xf32>) -> tensor<8x12x8xf32>
  %ce = tensor.expand_shape %c [[0, 1], [2], [3]] output_shape [2, 4, 12, 8] : tensor<8x12x8xf32> into tensor<2x4x12x8xf32>
  %g = tensor.empty() : tensor<2x12x4x8xf32>
  %y = linalg.transpose ins(%ce : tensor<2x4x12x8xf32>) outs(%g : tensor<2x12x4x8xf32>) permutation = [0, 2, 1, 3]
  return %y : tensor<2x12x4x8xf32>
}

// -----

// CHECK-LABEL: func @must_not_put_the_batch_innermost(
// CHECK: linalg.transpose
// CHECK: linalg.batch_matmul
func.func @must_not_put_the_batch_innermost(%a: tensor<4x12x12xf32>, %b: tensor<12x8x4xf32>, %z: tensor<4x12x8xf32>) -> tensor<4x12x8xf32> {
  %e = tensor.empty() : tensor<4x12x8xf32>
  %t = linalg.transpose ins(%b : tensor<12x8x4xf32>) outs(%e : tensor<4x12x8xf32>) permutation = [2, 0, 1]
  %y = linalg.batch_matmul ins(%a, %t : tensor<4x12x12xf32>, tensor<4x12x8xf32>) outs(%z : tensor<4x12x8xf32>) -> tensor<4x12x8xf32>
  return %y : tensor<4x12x8xf32>
}

// -----

// The sum that a product adds to fixes the product's layout.
// CHECK-LABEL: func @must_not_transpose_a_sum(
// CHECK: linalg.matmul
// CHECK: linalg.transpose
func.func @must_not_transpose_a_sum(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %sum: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %y = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%sum : tensor<8x4xf32>) -> tensor<8x4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %t = linalg.transpose ins(%y : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  return %t : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @must_not_move_a_product_into_a_loop(
// CHECK: linalg.matmul
// CHECK: scf.for
// CHECK-NOT: linalg.generic
// CHECK: linalg.transpose
func.func @must_not_move_a_product_into_a_loop(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<4x8xf32> {
    %f = tensor.empty() : tensor<4x8xf32>
    %t = linalg.transpose ins(%y : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) permutation = [1, 0]
    %u = linalg.add ins(%s, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %u : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// -----

// It adds up as before, though what is written is no product of matrices.
// CHECK-LABEL: func @keeps_the_order_of_a_product(
// CHECK-SAME: %[[A:.*]]: tensor<8x16xf32>, %[[V:.*]]: tensor<8xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[A]], %[[V]]
// CHECK-SAME: remat.order = "product"
func.func @keeps_the_order_of_a_product(%a: tensor<8x16xf32>, %v: tensor<8xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %t = linalg.transpose ins(%a : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>) permutation = [1, 0]
  %f = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %y = linalg.matvec ins(%t, %v : tensor<16x8xf32>, tensor<8xf32>) outs(%z : tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// With dynamic sizes, a transposition may stay outside of a region: there the product is a `linalg.matvec`, and sums in the order of one.
// CHECK-LABEL: func @keeps_the_order_of_a_product(
// CHECK: linalg.generic {{.*}} attrs = {remat.order = "product"}
func.func @keeps_the_order_of_a_product(%w: tensor<4x8xf32>, %x: tensor<4xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%w : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %y = linalg.matvec ins(%t, %x : tensor<8x4xf32>, tensor<4xf32>) outs(%z : tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A dimension of size 1 moves by way of one dimension: by way of all others, which passes read through. What moves more stays.
// CHECK-LABEL: func @moved_unit(
// CHECK-SAME: %[[X:.*]]: tensor<4x1x8xf32>
// CHECK-DAG: %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1, 2]] : tensor<4x1x8xf32> into tensor<32xf32>
// CHECK-DAG: %[[SMALL:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0], [1, 2]] : tensor<4x1x8xf32> into tensor<4x8xf32>
// CHECK-DAG: %[[MOVED:.*]] = tensor.expand_shape %[[SMALL]] {{\[\[}}0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
// CHECK-DAG: %[[OTHER:.*]] = tensor.expand_shape %[[FLAT]] {{\[\[}}0, 1, 2]] output_shape [8, 4, 1]
// CHECK: return %[[MOVED]], %[[OTHER]]
func.func @moved_unit(%x: tensor<4x1x8xf32>) -> (tensor<1x4x8xf32>, tensor<8x4x1xf32>) {
  %flat = tensor.collapse_shape %x [[0, 1, 2]] : tensor<4x1x8xf32> into tensor<32xf32>
  %moved = tensor.expand_shape %flat [[0, 1, 2]] output_shape [1, 4, 8] : tensor<32xf32> into tensor<1x4x8xf32>
  %other = tensor.expand_shape %flat [[0, 1, 2]] output_shape [8, 4, 1] : tensor<32xf32> into tensor<8x4x1xf32>
  return %moved, %other : tensor<1x4x8xf32>, tensor<8x4x1xf32>
}

// -----

// A slice of a copy is cut from its source, whatever dimensions it drops: a loop over tiles keeps no transposed weights.
// CHECK-LABEL: func @slices_of_a_transposition(
// CHECK-SAME: %[[W:.*]]: tensor<4x3x5x8xf32>
// CHECK-NOT: linalg.transpose
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK:   %[[SLICE:.*]] = tensor.extract_slice %[[W]][%[[I]], 1, 0, 2] [1, 1, 5, 6] [1, 1, 1, 1] : tensor<4x3x5x8xf32> to tensor<5x6xf32>
// CHECK:   linalg.generic {indexing_maps = [#[[X:.*]], #[[WT:.*]], #[[Y:.*]]], {{.*}} ins(%{{.*}}, %[[SLICE]] : tensor<7x6xf32>, tensor<5x6xf32>)
func.func @slices_of_a_transposition(%w: tensor<4x3x5x8xf32>, %x: tensor<7x6xf32>, %z: tensor<7x5xf32>) -> tensor<7x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<3x8x4x5xf32>
  %t = linalg.transpose ins(%w : tensor<4x3x5x8xf32>) outs(%e : tensor<3x8x4x5xf32>) permutation = [1, 3, 0, 2]
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %z) -> tensor<7x5xf32> {
    %m = tensor.extract_slice %t[1, 2, %i, 0] [1, 6, 1, 5] [1, 1, 1, 1] : tensor<3x8x4x5xf32> to tensor<6x5xf32>
    %p = linalg.matmul ins(%x, %m : tensor<7x6xf32>, tensor<6x5xf32>) outs(%sum : tensor<7x5xf32>) -> tensor<7x5xf32>
    scf.yield %p : tensor<7x5xf32>
  }
  return %y : tensor<7x5xf32>
}

// -----

// Operations other than products read the copy.
// CHECK-LABEL: func @slices_that_others_read(
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: tensor.extract_slice %[[T]]
func.func @slices_that_others_read(%w: tensor<5x8xf32>, %z: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %e = tensor.empty() : tensor<8x5xf32>
  %t = linalg.transpose ins(%w : tensor<5x8xf32>) outs(%e : tensor<8x5xf32>) permutation = [1, 0]
  %m = tensor.extract_slice %t[1, 0] [3, 5] [1, 1] : tensor<8x5xf32> to tensor<3x5xf32>
  %y = linalg.exp ins(%m : tensor<3x5xf32>) outs(%z : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
