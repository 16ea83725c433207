// RUN: remat-opt %s --convert-conv-to-library | FileCheck %s

// CHECK: func.func private @remat_conv_2d_backward_filter_f32(memref<?x?x?x?xf32> {remat.access = "read"}, memref<?x?x?x?xf32> {remat.access = "read"}, memref<?x?x?x?xf32>, i64, i64, i64, i64, i64, i64) attributes {llvm.emit_c_interface}
// CHECK-LABEL: func.func @keeps_attributes(
func.func @keeps_attributes(%x: memref<2x8x8x3xf32>, %dy: memref<2x8x8x4xf32>, %dw: memref<3x3x3x4xf32>) {
  // CHECK-NOT: memref.alloc
  // CHECK: call @remat_conv_2d_backward_filter_f32({{.*}}) {remat.phase = "backward"}
  remat.conv_backward_filter ins(%x, %dy : memref<2x8x8x3xf32>, memref<2x8x8x4xf32>) outs(%dw : memref<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, remat.phase = "backward"}
  return
}

// CHECK-LABEL: func.func @copies_what_is_not_contiguous(
func.func @copies_what_is_not_contiguous(%x: memref<2x8x8x3xf64, strided<[400, 40, 4, 1]>>, %w: memref<1x1x3x4xf64>, %y: memref<2x8x8x4xf64>) {
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<2x8x8x3xf64>
  // CHECK: memref.copy %{{.*}}, %[[COPY]]
  // CHECK: call @remat_conv_2d_f64
  remat.conv ins(%x, %w : memref<2x8x8x3xf64, strided<[400, 40, 4, 1]>>, memref<1x1x3x4xf64>) outs(%y : memref<2x8x8x4xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @channels_first(
func.func @channels_first(%x: memref<2x3x8x9xf32>, %w: memref<4x3x3x3xf32>, %y: memref<2x4x4x3xf32>) {
  // Strides, dilations, the padding in front.
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i64
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i64
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i64
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i64
  // CHECK: call @remat_conv_2d_channels_first_f32({{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  remat.conv ins(%x, %w : memref<2x3x8x9xf32>, memref<4x3x3x3xf32>) outs(%y : memref<2x4x4x3xf32>)
      {channels_first, strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @any_sizes(
func.func @any_sizes(%x: memref<?x?x8x3xf32>, %w: memref<1x1x3x4xf32>, %y: memref<?x?x8x4xf32>) {
  // CHECK: call @remat_conv_2d_f32
  remat.conv ins(%x, %w : memref<?x?x8x3xf32>, memref<1x1x3x4xf32>) outs(%y : memref<?x?x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @three_dimensions(
func.func @three_dimensions(%x: memref<2x3x8x9x7xf64>, %dy: memref<2x4x4x5x7xf64>, %dw: memref<4x3x3x2x1xf64>) {
  // CHECK: call @remat_conv_3d_channels_first_backward_filter_f64({{.*}}) : (memref<?x?x?x?x?xf64>, memref<?x?x?x?x?xf64>, memref<?x?x?x?x?xf64>, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> ()
  remat.conv_backward_filter ins(%x, %dy : memref<2x3x8x9x7xf64>, memref<2x4x4x5x7xf64>) outs(%dw : memref<4x3x3x2x1xf64>)
      {channels_first, strides = array<i64: 2, 2, 1>, dilations = array<i64: 1, 2, 1>, padding = array<i64: 1, 0, 0, 2, 0, 0>}
  return
}
