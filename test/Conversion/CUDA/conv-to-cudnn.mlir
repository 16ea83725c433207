// RUN: remat-opt %s --convert-conv-to-cudnn -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: func.func private @remat_cudnn_conv_2d_f32(memref<?x?x?x?xf32> {remat.access = "read"}, memref<?x?x?x?xf32> {remat.access = "read"}, memref<?x?x?x?xf32>, memref<?xi8>, i64, i64, i64, i64, i64, i64, i64, i64) attributes {llvm.emit_c_interface}

// CHECK-LABEL: func.func @channels_first_takes_no_copies(
// CHECK-SAME: %[[X:.*]]: memref<2x3x8x8xf32>, %[[W:.*]]: memref<4x3x3x3xf32>, %[[Y:.*]]: memref<2x4x4x4xf32>)
func.func @channels_first_takes_no_copies(%x: memref<2x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<2x4x4x4xf32>) {
  // CHECK-NOT: memref.alloc
  // CHECK: %[[IMAGES:.*]] = memref.cast %[[X]]
  // CHECK: %[[FILTERS:.*]] = memref.cast %[[W]]
  // CHECK: %[[RESULTS:.*]] = memref.cast %[[Y]]
  // CHECK: %[[ALLOC:.*]] = memref.alloc() {remat.workspace} : memref<1051136xi8>
  // CHECK: %[[WORKSPACE:.*]] = memref.cast %[[ALLOC]]
  // Channels first, strides, dilations, padding in front, groups.
  // CHECK-NEXT: %[[FIRST:.*]] = arith.constant 1 : i64
  // CHECK-NEXT: %[[STRIDE_Y:.*]] = arith.constant 2 : i64
  // CHECK-NEXT: %[[STRIDE_X:.*]] = arith.constant 2 : i64
  // CHECK-NEXT: %[[DILATION_Y:.*]] = arith.constant 1 : i64
  // CHECK-NEXT: %[[DILATION_X:.*]] = arith.constant 2 : i64
  // CHECK-NEXT: %[[PAD_Y:.*]] = arith.constant 1 : i64
  // CHECK-NEXT: %[[PAD_X:.*]] = arith.constant 2 : i64
  // CHECK-NEXT: %[[GROUPS:.*]] = arith.constant 1 : i64
  // CHECK-NEXT: call @remat_cudnn_conv_2d_f32(%[[IMAGES]], %[[FILTERS]], %[[RESULTS]], %[[WORKSPACE]], %[[FIRST]], %[[STRIDE_Y]], %[[STRIDE_X]], %[[DILATION_Y]], %[[DILATION_X]], %[[PAD_Y]], %[[PAD_X]], %[[GROUPS]]) {remat.phase = "backward"}
  // CHECK-NEXT: return
  // Zeros after the image that no result reads: 0 or 1 row, as cuDNN takes it, are the same.
  remat.conv ins(%x, %w : memref<2x3x8x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<2x4x4x4xf32>)
      {channels_first, strides = array<i64: 2, 2>, dilations = array<i64: 1, 2>, padding = array<i64: 1, 0, 2, 1>, remat.phase = "backward", remat.workspace_bytes = 33554432 : i64}
  return
}

// -----

// CHECK-LABEL: func.func @channels_last_transposes_filters(
// CHECK-SAME: %[[X:.*]]: memref<2x8x8x3xf32>, %[[W:.*]]: memref<3x5x3x4xf32>,
func.func @channels_last_transposes_filters(%x: memref<2x8x8x3xf32>, %w: memref<3x5x3x4xf32>, %y: memref<2x8x8x4xf32>) {
  // CHECK: %[[IMAGES:.*]] = memref.cast %[[X]]
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<4x3x5x3xf32>
  // CHECK: linalg.transpose ins(%[[W]] : memref<3x5x3x4xf32>) outs(%[[COPY]] : memref<4x3x5x3xf32>) permutation = [3, 0, 1, 2]
  // CHECK: %[[FILTERS:.*]] = memref.cast %[[COPY]]
  // CHECK: memref.alloc() {remat.workspace} : memref<1052928xi8>
  // CHECK-NEXT: memref.cast
  // CHECK-NEXT: %[[FIRST:.*]] = arith.constant 0 : i64
  // CHECK: call @remat_cudnn_conv_2d_f32(%[[IMAGES]], %[[FILTERS]], %{{[^,]*}}, %{{[^,]*}}, %[[FIRST]],
  remat.conv ins(%x, %w : memref<2x8x8x3xf32>, memref<3x5x3x4xf32>) outs(%y : memref<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 2, 2>}
  return
}

// CHECK-LABEL: func.func @channels_last_transposes_their_gradient_back(
// CHECK-SAME: %[[DW:[^:]*]]: memref<3x3x3x4xf32>)
func.func @channels_last_transposes_their_gradient_back(%x: memref<2x8x8x3xf32>, %dy: memref<2x6x6x4xf32>, %dw: memref<3x3x3x4xf32>) {
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<4x3x3x3xf32>
  // CHECK-NOT: linalg.transpose
  // CHECK: call @remat_cudnn_conv_2d_backward_filter_f32
  // CHECK-NEXT: linalg.transpose ins(%[[COPY]] : memref<4x3x3x3xf32>) outs(%[[DW]] : memref<3x3x3x4xf32>) permutation = [1, 2, 3, 0]
  remat.conv_backward_filter ins(%x, %dy : memref<2x8x8x3xf32>, memref<2x6x6x4xf32>) outs(%dw : memref<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// -----

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[BACK:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d0, d1, d2)>

// The only user of a gradient reads it in cuDNN's layout, without a copy in between.
// CHECK-LABEL: func.func @an_update_transposes_its_gradient(
// CHECK-SAME: %[[W:[^:]*]]: memref<3x3x3x4xf32>)
func.func @an_update_transposes_its_gradient(%x: memref<2x8x8x3xf32>, %dy: memref<2x6x6x4xf32>, %w: memref<3x3x3x4xf32>) {
  // CHECK-NOT: memref<3x3x3x4xf32>
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<4x3x3x3xf32>
  // CHECK: call @remat_cudnn_conv_2d_backward_filter_f32
  // CHECK-NOT: linalg.transpose
  // CHECK: linalg.generic {indexing_maps = [#[[BACK]], #[[ID]]], {{.*}} ins(%[[COPY]] : memref<4x3x3x3xf32>) outs(%[[W]] : memref<3x3x3x4xf32>)
  %dw = memref.alloc() : memref<3x3x3x4xf32>
  remat.conv_backward_filter ins(%x, %dy : memref<2x8x8x3xf32>, memref<2x6x6x4xf32>) outs(%dw : memref<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%dw : memref<3x3x3x4xf32>) outs(%w : memref<3x3x3x4xf32>) {
  ^bb0(%g: f32, %o: f32):
    %0 = arith.subf %o, %g : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %dw : memref<3x3x3x4xf32>
  return
}

// Sums add up in the order of the gradient, and two readers would transpose it twice.
// CHECK-LABEL: func.func @a_gradient_with_two_readers(
// CHECK: call @remat_cudnn_conv_2d_backward_filter_f32
// CHECK-NEXT: linalg.transpose
func.func @a_gradient_with_two_readers(%x: memref<2x8x8x3xf32>, %dy: memref<2x6x6x4xf32>, %w: memref<3x3x3x4xf32>, %s: memref<f32>) {
  %dw = memref.alloc() : memref<3x3x3x4xf32>
  remat.conv_backward_filter ins(%x, %dy : memref<2x8x8x3xf32>, memref<2x6x6x4xf32>) outs(%dw : memref<3x3x3x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  linalg.generic {indexing_maps = [#id, affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%dw : memref<3x3x3x4xf32>) outs(%s : memref<f32>) {
  ^bb0(%g: f32, %o: f32):
    %0 = arith.addf %o, %g : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%dw : memref<3x3x3x4xf32>) outs(%w : memref<3x3x3x4xf32>) {
  ^bb0(%g: f32, %o: f32):
    %0 = arith.subf %o, %g : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %dw : memref<3x3x3x4xf32>
  return
}

// -----

// CHECK-LABEL: func.func @pads_what_cudnn_cannot(
// CHECK-SAME: %[[X:.*]]: memref<2x3x8x8xf32>,
func.func @pads_what_cudnn_cannot(%x: memref<2x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<2x4x8x8xf32>) {
  // A row after the image, and none before it; the columns have as many on both sides.
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<2x3x10x8xf32>
  // CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[COPY]] : memref<2x3x10x8xf32>)
  // CHECK: %[[INSIDE:.*]] = memref.subview %[[COPY]][0, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1]
  // CHECK: memref.copy %[[X]], %[[INSIDE]]
  // CHECK: memref.alloc() {remat.workspace} : memref<1053184xi8>
  // CHECK: arith.constant 1 : i64
  // CHECK-COUNT-4: arith.constant 1 : i64
  // CHECK-NEXT: %[[PAD_Y:.*]] = arith.constant 0 : i64
  // CHECK-NEXT: %[[PAD_X:.*]] = arith.constant 1 : i64
  // CHECK: call @remat_cudnn_conv_2d_f32({{.*}}, %[[PAD_Y]], %[[PAD_X]], %{{[^,]*}})
  remat.conv ins(%x, %w : memref<2x3x8x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<2x4x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 2, 1, 1>}
  return
}

// CHECK-LABEL: func.func @crops_images_that_give_more_results(
// CHECK-SAME: %[[X:.*]]: memref<2x3x8x8xf32>,
func.func @crops_images_that_give_more_results(%x: memref<2x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<2x4x4x6xf32>) {
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<2x3x6x8xf32>
  // CHECK-NOT: linalg.fill
  // CHECK: %[[READ:.*]] = memref.subview %[[X]][0, 0, 0, 0] [2, 3, 6, 8] [1, 1, 1, 1]
  // CHECK: memref.copy %[[READ]], %[[COPY]]
  remat.conv ins(%x, %w : memref<2x3x8x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<2x4x4x6xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @takes_the_inside_of_a_gradient(
// CHECK-SAME: %[[DX:[^:]*]]: memref<2x3x8x8xf32>)
func.func @takes_the_inside_of_a_gradient(%dy: memref<2x4x4x4xf32>, %w: memref<4x3x3x3xf32>, %dx: memref<2x3x8x8xf32>) {
  // Strides of 2: the first rows and columns are padding, the last ones are not read.
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<2x3x9x9xf32>
  // CHECK: call @remat_cudnn_conv_2d_backward_data_f32
  // CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[DX]] : memref<2x3x8x8xf32>)
  // CHECK: %[[INSIDE:.*]] = memref.subview %[[COPY]][0, 0, 2, 2] [2, 3, 7, 7] [1, 1, 1, 1]
  // CHECK: %[[READ:.*]] = memref.subview %[[DX]][0, 0, 0, 0] [2, 3, 7, 7] [1, 1, 1, 1]
  // CHECK: memref.copy %[[INSIDE]], %[[READ]]
  remat.conv_backward_data ins(%dy, %w : memref<2x4x4x4xf32>, memref<4x3x3x3xf32>) outs(%dx : memref<2x3x8x8xf32>)
      {channels_first, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 2, 0, 2, 0>}
  return
}

// All of the window is before the image.
// CHECK-LABEL: func.func @reads_nothing_but_padding(
// CHECK-SAME: %[[X:.*]]: memref<1x1x4x4xf32>,
func.func @reads_nothing_but_padding(%x: memref<1x1x4x4xf32>, %w: memref<1x1x2x2xf32>, %y: memref<1x1x1x4xf32>) {
  // CHECK: %[[COPY:.*]] = memref.alloc() : memref<1x1x2x5xf32>
  // CHECK: linalg.fill
  // CHECK-NOT: memref.copy
  // CHECK: call @remat_cudnn_conv_2d_f32
  remat.conv ins(%x, %w : memref<1x1x4x4xf32>, memref<1x1x2x2xf32>) outs(%y : memref<1x1x1x4xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 3, 0, 0, 1>}
  return
}

// -----

// CHECK-LABEL: func.func @groups_of_channels(
func.func @groups_of_channels(%x: memref<2x6x8x8xf32>, %w: memref<9x2x1x1xf32>, %y: memref<2x9x8x8xf32>) {
  // CHECK: %[[GROUPS:.*]] = arith.constant 3 : i64
  // CHECK-NEXT: call @remat_cudnn_conv_2d_f32({{.*}}, %[[GROUPS]])
  remat.conv ins(%x, %w : memref<2x6x8x8xf32>, memref<9x2x1x1xf32>) outs(%y : memref<2x9x8x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// CHECK-LABEL: func.func @depthwise_with_channels_last(
func.func @depthwise_with_channels_last(%x: memref<2x8x8x6xf32>, %w: memref<3x3x1x6xf32>, %y: memref<2x6x6x6xf32>) {
  // CHECK: linalg.transpose {{.*}} outs(%{{.*}} : memref<6x3x3x1xf32>) permutation = [3, 0, 1, 2]
  // CHECK: %[[GROUPS:.*]] = arith.constant 6 : i64
  // CHECK-NEXT: call @remat_cudnn_conv_2d_f32({{.*}}, %[[GROUPS]])
  remat.conv ins(%x, %w : memref<2x8x8x6xf32>, memref<3x3x1x6xf32>) outs(%y : memref<2x6x6x6xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// -----

// cuDNN has no gradients of f64 with channels last.
// CHECK-LABEL: func.func @f64_is_computed_channels_first(
// CHECK-SAME: %[[X:.*]]: memref<2x8x8x3xf64>, %[[W:.*]]: memref<3x3x3x4xf64>, %[[Y:.*]]: memref<2x7x8x4xf64>)
func.func @f64_is_computed_channels_first(%x: memref<2x8x8x3xf64>, %w: memref<3x3x3x4xf64>, %y: memref<2x7x8x4xf64>) {
  // CHECK: %[[IMAGES:.*]] = memref.alloc() : memref<2x3x9x8xf64>
  // CHECK: linalg.fill {{.*}} outs(%[[IMAGES]] : memref<2x3x9x8xf64>)
  // CHECK: %[[INSIDE:.*]] = memref.subview %[[IMAGES]][0, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1]
  // CHECK: linalg.transpose ins(%[[X]] : memref<2x8x8x3xf64>) outs(%[[INSIDE]] : {{.*}}) permutation = [0, 3, 1, 2]
  // CHECK: linalg.transpose ins(%[[W]] : memref<3x3x3x4xf64>) outs(%{{.*}} : memref<4x3x3x3xf64>) permutation = [3, 2, 0, 1]
  // CHECK: %[[RESULTS:.*]] = memref.alloc() : memref<2x4x7x8xf64>
  // CHECK: memref.alloc() {remat.workspace} : memref<1056768xi8>
  // CHECK-NEXT: memref.cast
  // CHECK-NEXT: arith.constant 1 : i64
  // CHECK: call @remat_cudnn_conv_2d_f64
  // CHECK-NEXT: linalg.transpose ins(%[[RESULTS]] : memref<2x4x7x8xf64>) outs(%[[Y]] : memref<2x7x8x4xf64>) permutation = [0, 2, 3, 1]
  remat.conv ins(%x, %w : memref<2x8x8x3xf64>, memref<3x3x3x4xf64>) outs(%y : memref<2x7x8x4xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 1, 1, 1>}
  return
}

// CHECK-LABEL: func.func @copies_what_is_not_contiguous(
func.func @copies_what_is_not_contiguous(%x: memref<2x3x8x8xf64, strided<[400, 100, 10, 1]>>, %w: memref<4x3x1x1xf64>, %y: memref<2x4x8x8xf64, strided<[300, 64, 8, 1], offset: 2>>) {
  // CHECK: %[[IMAGES:.*]] = memref.alloc() : memref<2x3x8x8xf64>
  // CHECK: memref.copy %{{.*}}, %[[IMAGES]]
  // CHECK: %[[RESULTS:.*]] = memref.alloc() : memref<2x4x8x8xf64>
  // CHECK: call @remat_cudnn_conv_2d_f64
  // CHECK-NEXT: memref.copy %[[RESULTS]], %{{.*}}
  remat.conv ins(%x, %w : memref<2x3x8x8xf64, strided<[400, 100, 10, 1]>>, memref<4x3x1x1xf64>) outs(%y : memref<2x4x8x8xf64, strided<[300, 64, 8, 1], offset: 2>>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// -----

// CHECK-LABEL: func.func @any_number_of_images(
// CHECK-SAME: %[[X:.*]]: memref<?x3x8x8xf32>,
func.func @any_number_of_images(%x: memref<?x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<?x4x7x7xf32>) {
  // CHECK: %[[N:.*]] = memref.dim %[[X]], %{{.*}}
  // CHECK: %[[COPY:.*]] = memref.alloc(%[[N]]) : memref<?x3x9x9xf32>
  // CHECK: %[[AGAIN:.*]] = memref.dim %[[X]], %{{.*}}
  // CHECK: memref.subview %[[COPY]][0, 0, 1, 1] [%[[AGAIN]], 3, 8, 8] [1, 1, 1, 1]
  remat.conv ins(%x, %w : memref<?x3x8x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<?x4x7x7xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 1, 0>}
  return
}

// -----

func.func @unknown_height(%x: memref<2x3x?x8xf32>, %w: memref<4x3x3x3xf32>, %y: memref<2x4x?x6xf32>) {
  // expected-error @+1 {{'remat.conv' op has a dynamic size besides the number of images, for which cuDNN's operands cannot be planned; make it static, or leave remat-fuse-padding out}}
  remat.conv ins(%x, %w : memref<2x3x?x8xf32>, memref<4x3x3x3xf32>) outs(%y : memref<2x4x?x6xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

// -----

func.func @three_dimensions(%x: memref<2x3x8x8x8xf32>, %w: memref<4x3x3x3x3xf32>, %y: memref<2x4x6x6x6xf32>) {
  // expected-error @+1 {{'remat.conv' op has three dimensions in space, which are loops on CUDA; write linalg's convolution, or run remat-fuse-padding with most-dims=2 where that made it}}
  remat.conv ins(%x, %w : memref<2x3x8x8x8xf32>, memref<4x3x3x3x3xf32>) outs(%y : memref<2x4x6x6x6xf32>)
      {channels_first, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0, 0, 0, 0>}
  return
}
