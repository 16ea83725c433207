// RUN: remat-opt %s --convert-conv-to-library=threads=2 -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: func.func private @remat_conv_2d_backward_filter_f32(memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?xi8>, i64, i64, i64, i64, i64, i64) attributes {llvm.emit_c_interface}
// CHECK-LABEL: func.func @reserves_workspace(
func.func @reserves_workspace(%x: memref<2x8x8x3xf32>, %dy: memref<2x8x8x4xf32>, %dw: memref<3x3x3x4xf32>) {
  // All taps are one task: a slot of 16 positions, 9 taps and 3 channels of 4 bytes, no more than the results have.
  // CHECK: memref.alloc() {remat.workspace} : memref<1728xi8>
  // CHECK: call @remat_conv_2d_backward_filter_f32({{.*}}) {remat.phase = "backward"}
  remat.conv_2d_backward_filter ins(%x, %dy : memref<2x8x8x3xf32>, memref<2x8x8x4xf32>) outs(%dw : memref<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, remat.phase = "backward", remat.workspace_bytes = 1728 : i64}
  return
}

// CHECK-LABEL: func.func @copies_what_is_not_contiguous(
func.func @copies_what_is_not_contiguous(%x: memref<2x8x8x3xf64, strided<[400, 40, 4, 1]>>, %w: memref<1x1x3x4xf64>, %y: memref<2x8x8x4xf64>) {
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<2x8x8x3xf64>
  // CHECK: memref.copy %{{.*}}, %[[COPY]]
  // CHECK: call @remat_conv_2d_f64
  remat.conv_2d ins(%x, %w : memref<2x8x8x3xf64, strided<[400, 40, 4, 1]>>, memref<1x1x3x4xf64>) outs(%y : memref<2x8x8x4xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @channels_first(
func.func @channels_first(%x: memref<2x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<2x4x8x8xf32>) {
  // 2 slots of 16 positions, 9 taps and 3 channels of 4 bytes.
  // CHECK: memref.alloc() {remat.useful_bytes = {{[0-9]+}} : i64, remat.workspace} : memref<3456xi8>
  // CHECK: call @remat_conv_2d_channels_first_f32
  remat.conv_2d ins(%x, %w : memref<2x3x8x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<2x4x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
  return
}

// CHECK-LABEL: func.func @large_images(
func.func @large_images(%x: memref<8x32x64x64xf32>, %w: memref<32x32x3x3xf32>, %y: memref<8x32x64x64xf32>) {
  // 2 slots of 256 positions, 9 taps and 32 channels of 4 bytes: the images have more.
  // CHECK: memref.alloc() {remat.useful_bytes = {{[0-9]+}} : i64, remat.workspace} : memref<589824xi8>
  remat.conv_2d ins(%x, %w : memref<8x32x64x64xf32>, memref<32x32x3x3xf32>) outs(%y : memref<8x32x64x64xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
  return
}

// As many positions as of a batch that is large enough.
// CHECK-LABEL: func.func @any_number_of_images(
func.func @any_number_of_images(%x: memref<?x8x8x3xf32>, %w: memref<3x3x3x4xf32>, %y: memref<?x8x8x4xf32>) {
  // 2 slots of 256 positions, 9 taps and 3 channels of 4 bytes.
  // CHECK: memref.alloc() {remat.useful_bytes = {{[0-9]+}} : i64, remat.workspace} : memref<55296xi8>
  // CHECK: call @remat_conv_2d_f32
  remat.conv_2d ins(%x, %w : memref<?x8x8x3xf32>, memref<3x3x3x4xf32>) outs(%y : memref<?x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
  return
}

// CHECK-LABEL: func.func @depthwise_needs_no_workspace(
func.func @depthwise_needs_no_workspace(%x: memref<2x32x8x8xf32>, %w: memref<32x1x3x3xf32>, %y: memref<2x32x8x8xf32>) {
  // CHECK: memref.alloc() {remat.workspace} : memref<0xi8>
  // CHECK: call @remat_conv_2d_channels_first_f32
  remat.conv_2d ins(%x, %w : memref<2x32x8x8xf32>, memref<32x1x3x3xf32>) outs(%y : memref<2x32x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
  return
}

// Nothing is added up, so nothing is gathered.
// CHECK-LABEL: func.func @no_images(
// CHECK: memref.alloc() {remat.workspace} : memref<0xi8>
func.func @no_images(%x: memref<0x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<0x4x6x6xf32>) {
  remat.conv_2d ins(%x, %w : memref<0x3x8x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<0x4x6x6xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @no_filters(
// CHECK: memref.alloc() {remat.workspace} : memref<0xi8>
func.func @no_filters(%x: memref<2x3x8x8xf32>, %dy: memref<2x0x6x6xf32>, %dw: memref<0x3x3x3xf32>) {
  remat.conv_2d_backward_filter ins(%x, %dy : memref<2x3x8x8xf32>, memref<2x0x6x6xf32>) outs(%dw : memref<0x3x3x3xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @no_channels(
// CHECK: memref.alloc() {remat.workspace} : memref<0xi8>
func.func @no_channels(%dy: memref<2x4x6x6xf32>, %w: memref<4x0x3x3xf32>, %dx: memref<2x0x8x8xf32>) {
  remat.conv_2d_backward_data ins(%dy, %w : memref<2x4x6x6xf32>, memref<4x0x3x3xf32>) outs(%dx : memref<2x0x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// -----

func.func @dynamic_shape(%x: memref<2x?x8x3xf32>, %w: memref<1x1x3x4xf32>, %y: memref<2x?x8x4xf32>) {
  // expected-error @+1 {{has a dynamic size besides the number of images, for which no workspace can be reserved; make it static}}
  remat.conv_2d ins(%x, %w : memref<2x?x8x3xf32>, memref<1x1x3x4xf32>) outs(%y : memref<2x?x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// -----

func.func @too_many_elements(%x: memref<4294967296x8x8x4294967296xf32>, %w: memref<1x1x4294967296x4xf32>, %y: memref<4294967296x8x8x4xf32>) {
  // expected-error @+1 {{is too large: its operands must have at most 2^48 elements each, and its workspace less than 2^63 bytes}}
  remat.conv_2d ins(%x, %w : memref<4294967296x8x8x4294967296xf32>, memref<1x1x4294967296x4xf32>) outs(%y : memref<4294967296x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}
