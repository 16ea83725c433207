// RUN: remat-opt %s --annotate-conv-workspace=threads=2 | FileCheck %s
// RUN: remat-opt %s --annotate-conv-workspace=threads=1 | FileCheck %s --check-prefix=ONE
// RUN: not remat-opt %s --annotate-conv-workspace=threads=0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: threads must be at least 1, but got 0

// What convert-conv-to-library reserves, see there.
// CHECK-LABEL: func.func @images(
// CHECK: remat.conv_2d {{.*}}remat.workspace_bytes = 589824 : i64
// ONE: remat.workspace_bytes = 294912 : i64
func.func @images(%x: tensor<8x32x64x64xf32>, %w: tensor<32x32x3x3xf32>, %y: tensor<8x32x64x64xf32>) -> tensor<8x32x64x64xf32> {
  %0 = remat.conv_2d ins(%x, %w : tensor<8x32x64x64xf32>, tensor<32x32x3x3xf32>) outs(%y : tensor<8x32x64x64xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<8x32x64x64xf32>
  return %0 : tensor<8x32x64x64xf32>
}

// CHECK-LABEL: func.func @gradient_of_filters(
// CHECK: remat.conv_2d_backward_filter {{.*}}remat.workspace_bytes = 1728 : i64
func.func @gradient_of_filters(%x: tensor<2x8x8x3xf32>, %dy: tensor<2x8x8x4xf32>, %dw: tensor<3x3x3x4xf32>) -> tensor<3x3x3x4xf32> {
  %0 = remat.conv_2d_backward_filter ins(%x, %dy : tensor<2x8x8x3xf32>, tensor<2x8x8x4xf32>) outs(%dw : tensor<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<3x3x3x4xf32>
  return %0 : tensor<3x3x3x4xf32>
}

// CHECK-LABEL: func.func @unknown_height(
// CHECK-NOT: remat.workspace_bytes
// CHECK: return
func.func @unknown_height(%x: tensor<2x?x8x3xf32>, %w: tensor<3x3x3x4xf32>, %y: tensor<2x?x8x4xf32>) -> tensor<2x?x8x4xf32> {
  %0 = remat.conv_2d ins(%x, %w : tensor<2x?x8x3xf32>, tensor<3x3x3x4xf32>) outs(%y : tensor<2x?x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x?x8x4xf32>
  return %0 : tensor<2x?x8x4xf32>
}

// Steps as large as they may be leave no position of a class to some tasks.
// CHECK-LABEL: func.func @large_strides(
// CHECK: remat.conv_2d_backward_data {{.*}}remat.workspace_bytes = {{[0-9]+}} : i64
func.func @large_strides(%dy: tensor<2x1x1x4xf32>, %w: tensor<3x3x3x4xf32>, %dx: tensor<2x8x8x3xf32>) -> tensor<2x8x8x3xf32> {
  %0 = remat.conv_2d_backward_data ins(%dy, %w : tensor<2x1x1x4xf32>, tensor<3x3x3x4xf32>) outs(%dx : tensor<2x8x8x3xf32>)
      {strides = array<i64: 2147483647, 2147483647>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x8x8x3xf32>
  return %0 : tensor<2x8x8x3xf32>
}

// CHECK-LABEL: func.func @more_elements_than_can_be_counted(
// CHECK-NOT: remat.workspace_bytes
// CHECK: return
func.func @more_elements_than_can_be_counted(%x: tensor<4294967296x8x8x4294967296xf32>, %w: tensor<1x1x4294967296x4xf32>, %y: tensor<4294967296x8x8x4xf32>) -> tensor<4294967296x8x8x4xf32> {
  %0 = remat.conv_2d ins(%x, %w : tensor<4294967296x8x8x4294967296xf32>, tensor<1x1x4294967296x4xf32>) outs(%y : tensor<4294967296x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<4294967296x8x8x4xf32>
  return %0 : tensor<4294967296x8x8x4xf32>
}
