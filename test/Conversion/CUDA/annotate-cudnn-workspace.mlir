// RUN: remat-opt %s --annotate-cudnn-workspace | FileCheck %s
// RUN: remat-opt %s --annotate-cudnn-workspace=least-workspace=40000001 | FileCheck %s --check-prefix=LEAST
// The next multiple of 256.
// LEAST: remat.workspace_bytes = 40000256 : i64

// 1 MiB, images of 1536 bytes, filters of 432, results of 2048, each at a multiple of 256.
// CHECK-LABEL: func.func @only_the_workspace(
func.func @only_the_workspace(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %e: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  // CHECK: remat.conv {{.*}}remat.workspace_bytes = 1052672 : i64
  %y = remat.conv ins(%x, %w : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%e : tensor<2x4x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x4x8x8xf32>
  return %y : tensor<2x4x8x8xf32>
}

// Filters of 432 bytes, padded images of 2 x 9 x 9 x 3 floats (1944 bytes), each at a multiple of 256: 512 + 2048, both as copies and in
// the algorithm's memory, which has the results (1568) as well.
// CHECK-LABEL: func.func @and_copies(
func.func @and_copies(%x: tensor<2x8x8x3xf32>, %dy: tensor<2x7x7x4xf32>, %e: tensor<3x3x3x4xf32>) -> tensor<3x3x3x4xf32> {
  // CHECK: remat.conv_backward_filter {{.*}}remat.workspace_bytes = 1055488 : i64
  %dw = remat.conv_backward_filter ins(%x, %dy : tensor<2x8x8x3xf32>, tensor<2x7x7x4xf32>) outs(%e : tensor<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 1, 0>} -> tensor<3x3x3x4xf32>
  return %dw : tensor<3x3x3x4xf32>
}

// CHECK-LABEL: func.func @but_not_of_an_unknown_number_of_images(
func.func @but_not_of_an_unknown_number_of_images(%dy: tensor<?x7x7x4xf32>, %w: tensor<3x3x3x4xf32>, %e: tensor<?x8x8x3xf32>) -> tensor<?x8x8x3xf32> {
  // CHECK: remat.conv_backward_data {{.*}}remat.workspace_bytes = 33554944 : i64
  %dx = remat.conv_backward_data ins(%dy, %w : tensor<?x7x7x4xf32>, tensor<3x3x3x4xf32>) outs(%e : tensor<?x8x8x3xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 1, 0>} -> tensor<?x8x8x3xf32>
  return %dx : tensor<?x8x8x3xf32>
}

// CHECK-LABEL: func.func @a_product_of_its_operands_as_they_are(
func.func @a_product_of_its_operands_as_they_are(%x: tensor<64x32x8x8xf32>, %w: tensor<16x32x1x1xf32>, %e: tensor<64x16x8x8xf32>) -> tensor<64x16x8x8xf32> {
  // CHECK: remat.conv {{.*}}remat.workspace_bytes = 1048576 : i64
  %y = remat.conv ins(%x, %w : tensor<64x32x8x8xf32>, tensor<16x32x1x1xf32>) outs(%e : tensor<64x16x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<64x16x8x8xf32>
  return %y : tensor<64x16x8x8xf32>
}

// Images of 512 KiB, results of 256, filters of 18,432 bytes, for which 64 x 8 x 8 summands are 16 parts.
// CHECK-LABEL: func.func @partial_sums_of_filters(
func.func @partial_sums_of_filters(%x: tensor<64x32x8x8xf32>, %dy: tensor<64x16x8x8xf32>, %e: tensor<16x32x3x3xf32>) -> tensor<16x32x3x3xf32> {
  // CHECK: remat.conv_backward_filter {{.*}}remat.workspace_bytes = 2148352 : i64
  %dw = remat.conv_backward_filter ins(%x, %dy : tensor<64x32x8x8xf32>, tensor<64x16x8x8xf32>) outs(%e : tensor<16x32x3x3xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<16x32x3x3xf32>
  return %dw : tensor<16x32x3x3xf32>
}

// CHECK-LABEL: func.func @at_most_32_MiB(
func.func @at_most_32_MiB(%x: tensor<256x64x56x56xf32>, %w: tensor<64x64x3x3xf32>, %e: tensor<256x64x56x56xf32>) -> tensor<256x64x56x56xf32> {
  // CHECK: remat.conv {{.*}}remat.workspace_bytes = 33554432 : i64
  %y = remat.conv ins(%x, %w : tensor<256x64x56x56xf32>, tensor<64x64x3x3xf32>) outs(%e : tensor<256x64x56x56xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<256x64x56x56xf32>
  return %y : tensor<256x64x56x56xf32>
}

// CHECK-LABEL: func.func @unknown_height(
// CHECK-NOT: remat.workspace_bytes
func.func @unknown_height(%x: tensor<2x3x?x8xf32>, %w: tensor<4x3x3x3xf32>, %e: tensor<2x4x?x6xf32>) -> tensor<2x4x?x6xf32> {
  %y = remat.conv ins(%x, %w : tensor<2x3x?x8xf32>, tensor<4x3x3x3xf32>) outs(%e : tensor<2x4x?x6xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x4x?x6xf32>
  return %y : tensor<2x4x?x6xf32>
}
