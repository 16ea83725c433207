// RUN: remat-opt %s --remat-fuse-padding -canonicalize | FileCheck %s
// RUN: remat-opt %s --remat-fuse-padding=most-dims=2 -canonicalize | FileCheck %s --check-prefix=TWO

// CHECK-LABEL: func.func @takes_zero_padding_along(
// CHECK-SAME: %[[X:.*]]: tensor<2x8x8x3xf32>, %[[W:.*]]: tensor<3x3x3x4xf32>
func.func @takes_zero_padding_along(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<2x4x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: tensor.pad
  %p = tensor.pad %x low[0, 1, 0, 0] high[0, 1, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<2x8x8x3xf32> to tensor<2x10x10x3xf32>
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: %[[E:.*]] = tensor.empty
  // CHECK-NOT: linalg.fill
  // CHECK: remat.conv ins(%[[X]], %[[W]] : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%[[E]] : tensor<2x4x4x4xf32>)
  // CHECK-SAME: dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 0, 2>, strides = array<i64: 2, 2>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%p, %w : tensor<2x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%f : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %y : tensor<2x4x4x4xf32>
}

// CHECK-LABEL: func.func @leaves_other_padding_to_tensor_pad(
func.func @leaves_other_padding_to_tensor_pad(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<2x8x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  // CHECK: %[[P:.*]] = tensor.pad
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %one : f32
  } : tensor<2x8x8x3xf32> to tensor<2x10x10x3xf32>
  %e = tensor.empty() : tensor<2x8x8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  // CHECK: remat.conv ins(%[[P]], {{.*}}padding = array<i64: 0, 0, 0, 0>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<2x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%f : tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  return %y : tensor<2x8x8x4xf32>
}

// CHECK-LABEL: func.func @takes_channels_first(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>
func.func @takes_channels_first(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x8x10xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: tensor.pad
  %p = tensor.pad %x low[0, 0, 1, 2] high[0, 0, 1, 2] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<2x3x8x8xf32> to tensor<2x3x10x12xf32>
  %e = tensor.empty() : tensor<2x4x8x10xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x8x10xf32>) -> tensor<2x4x8x10xf32>
  // CHECK: remat.conv ins(%[[X]], %[[W]]
  // CHECK-SAME: {channels_first, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1>}
  %y = linalg.conv_2d_nchw_fchw ins(%p, %w : tensor<2x3x10x12xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<2x4x8x10xf32>) -> tensor<2x4x8x10xf32>
  return %y : tensor<2x4x8x10xf32>
}

// CHECK-LABEL: func.func @leaves_padding_of_channels_to_tensor_pad(
func.func @leaves_padding_of_channels_to_tensor_pad(%x: tensor<2x3x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<2x4x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[P:.*]] = tensor.pad
  %p = tensor.pad %x low[0, 1, 0, 0] high[0, 0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<2x3x8x8xf32> to tensor<2x4x8x8xf32>
  %e = tensor.empty() : tensor<2x4x8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: remat.conv ins(%[[P]], {{.*}}padding = array<i64: 0, 0, 0, 0>
  %y = linalg.conv_2d_nchw_fchw ins(%p, %w : tensor<2x4x8x8xf32>, tensor<4x4x1x1xf32>) outs(%f : tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %y : tensor<2x4x8x8xf32>
}

// CHECK-LABEL: func.func @adds_an_accumulator_afterwards(
// CHECK-SAME: %[[B:[^:]*]]: tensor<2x8x8x4xf32>) ->
// CHECK: %[[Y:.*]] = remat.conv {{.*}}kept
// CHECK: linalg.add {kept} ins(%[[B]], %[[Y]]
func.func @adds_an_accumulator_afterwards(%x: tensor<2x8x8x3xf32>, %w: tensor<1x1x3x4xf32>, %b: tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32> {
  %y = linalg.conv_2d_nhwc_hwcf {kept} ins(%x, %w : tensor<2x8x8x3xf32>, tensor<1x1x3x4xf32>) outs(%b : tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  return %y : tensor<2x8x8x4xf32>
}

// CHECK-LABEL: func.func @takes_results_that_leave_positions_out(
// CHECK: remat.conv {{.*}} -> tensor<2x3x2x4xf32>
func.func @takes_results_that_leave_positions_out(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %b: tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32> {
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%b : tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32>
  return %y : tensor<2x3x2x4xf32>
}

// CHECK-LABEL: func.func @leaves_unknown_sizes_for_which_no_workspace_can_be_reserved(
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @leaves_unknown_sizes_for_which_no_workspace_can_be_reserved(%x: tensor<2x?x8x3xf32>, %w: tensor<1x1x3x4xf32>, %b: tensor<2x?x8x4xf32>) -> tensor<2x?x8x4xf32> {
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x?x8x3xf32>, tensor<1x1x3x4xf32>) outs(%b : tensor<2x?x8x4xf32>) -> tensor<2x?x8x4xf32>
  return %y : tensor<2x?x8x4xf32>
}

// CHECK-LABEL: func.func @leaves_padding_of_unknown_sizes_to_tensor_pad(
// CHECK: %[[P:.*]] = tensor.pad
// CHECK: remat.conv ins(%[[P]], {{.*}}padding = array<i64: 0, 0, 0, 0>
func.func @leaves_padding_of_unknown_sizes_to_tensor_pad(%x: tensor<?x?x8x3xf32>, %w: tensor<3x3x3x4xf32>, %y: tensor<?x8x8x4xf32>) -> tensor<?x8x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<?x?x8x3xf32> to tensor<?x10x10x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%y : tensor<?x8x8x4xf32>) -> tensor<?x8x8x4xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%p, %w : tensor<?x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%f : tensor<?x8x8x4xf32>) -> tensor<?x8x8x4xf32>
  return %r : tensor<?x8x8x4xf32>
}

// CHECK-LABEL: func.func @leaves_types_that_the_library_does_not_have(
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @leaves_types_that_the_library_does_not_have(%x: tensor<2x8x8x3xbf16>, %w: tensor<1x1x3x4xbf16>) -> tensor<2x8x8x4xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x8x8x4xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<2x8x8x4xbf16>) -> tensor<2x8x8x4xbf16>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x8x8x3xbf16>, tensor<1x1x3x4xbf16>) outs(%f : tensor<2x8x8x4xbf16>) -> tensor<2x8x8x4xbf16>
  return %y : tensor<2x8x8x4xbf16>
}

// CHECK-LABEL: func.func @makes_one_dimension_the_width(
// CHECK-SAME: %[[X:.*]]: tensor<?x3x8xf32>, %[[W:.*]]: tensor<4x3x3xf32>
func.func @makes_one_dimension_the_width(%x: tensor<?x3x8xf32>, %w: tensor<4x3x3xf32>, %e: tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: tensor.pad
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<?x3x8xf32> to tensor<?x3x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  // CHECK: %[[IMAGES:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<?x3x1x8xf32>
  // CHECK: %[[FILTERS:.*]] = tensor.expand_shape %[[W]] {{.*}} into tensor<4x3x1x3xf32>
  // CHECK: remat.conv ins(%[[IMAGES]], %[[FILTERS]]
  // CHECK-SAME: {channels_first, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 1, 0>, strides = array<i64: 1, 2>}
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<?x4x1x4xf32> into tensor<?x4x4xf32>
  %y = linalg.conv_1d_ncw_fcw {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
      ins(%p, %w : tensor<?x3x9xf32>, tensor<4x3x3xf32>) outs(%f : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return %y : tensor<?x4x4xf32>
}

// CHECK-LABEL: func.func @gives_depthwise_filters_one_channel(
// CHECK: remat.conv ins(%{{.*}}, %{{.*}} : tensor<2x8x8x5xf32>, tensor<3x3x1x5xf32>)
func.func @gives_depthwise_filters_one_channel(%x: tensor<2x8x8x5xf32>, %w: tensor<3x3x5xf32>, %e: tensor<2x6x6x5xf32>) -> tensor<2x6x6x5xf32> {
  %y = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %w : tensor<2x8x8x5xf32>, tensor<3x3x5xf32>) outs(%e : tensor<2x6x6x5xf32>) -> tensor<2x6x6x5xf32>
  return %y : tensor<2x6x6x5xf32>
}

// CHECK-LABEL: func.func @puts_groups_and_channels_together(
// CHECK: remat.conv ins(%{{.*}}, %{{.*}} : tensor<2x6x8x8xf32>, tensor<8x3x1x1xf32>)
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3], [4]] {{.*}} into tensor<2x2x4x8x8xf32>
func.func @puts_groups_and_channels_together(%x: tensor<2x2x3x8x8xf32>, %w: tensor<2x4x3x1x1xf32>, %e: tensor<2x2x4x8x8xf32>) -> tensor<2x2x4x8x8xf32> {
  %y = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<2x2x3x8x8xf32>, tensor<2x4x3x1x1xf32>) outs(%e : tensor<2x2x4x8x8xf32>) -> tensor<2x2x4x8x8xf32>
  return %y : tensor<2x2x4x8x8xf32>
}

// CHECK-LABEL: func.func @leaves_several_filters_for_each_channel_alone(
// CHECK-NOT: remat.conv
// CHECK: return
func.func @leaves_several_filters_for_each_channel_alone(%x: tensor<2x8x8x5xf32>, %w: tensor<3x3x5x2xf32>, %e: tensor<2x6x6x5x2xf32>) -> tensor<2x6x6x5x2xf32> {
  %y = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<2x8x8x5xf32>, tensor<3x3x5x2xf32>) outs(%e : tensor<2x6x6x5x2xf32>) -> tensor<2x6x6x5x2xf32>
  return %y : tensor<2x6x6x5x2xf32>
}

// CHECK-LABEL: func.func @takes_three_dimensions(
// CHECK-SAME: %[[X:.*]]: tensor<?x3x8x9x7xf32>, %[[W:.*]]: tensor<4x3x3x2x1xf32>
// TWO-LABEL: func.func @takes_three_dimensions(
// TWO: tensor.pad
// TWO: linalg.conv_3d_ncdhw_fcdhw
func.func @takes_three_dimensions(%x: tensor<?x3x8x9x7xf32>, %w: tensor<4x3x3x2x1xf32>, %e: tensor<?x4x4x5x7xf32>) -> tensor<?x4x4x5x7xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: tensor.pad
  %p = tensor.pad %x low[0, 0, 1, 0, 0] high[0, 0, 0, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : f32
  } : tensor<?x3x8x9x7xf32> to tensor<?x3x9x11x7xf32>
  // CHECK: remat.conv ins(%[[X]], %[[W]]
  // CHECK-SAME: {channels_first, dilations = array<i64: 1, 2, 1>, padding = array<i64: 1, 0, 0, 2, 0, 0>, strides = array<i64: 2, 2, 1>}
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4x4x5x7xf32>) -> tensor<?x4x4x5x7xf32>
  %y = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<[1, 2, 1]> : tensor<3xi64>, strides = dense<[2, 2, 1]> : tensor<3xi64>}
      ins(%p, %w : tensor<?x3x9x11x7xf32>, tensor<4x3x3x2x1xf32>) outs(%f : tensor<?x4x4x5x7xf32>) -> tensor<?x4x4x5x7xf32>
  return %y : tensor<?x4x4x5x7xf32>
}

// CHECK-LABEL: func.func @takes_three_dimensions_channels_last(
// CHECK: remat.conv ins(%{{.*}}, %{{.*}} : tensor<2x4x5x6x3xf64>, tensor<2x2x2x3x4xf64>)
// CHECK-SAME: {dilations = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1>}
func.func @takes_three_dimensions_channels_last(%x: tensor<2x4x5x6x3xf64>, %w: tensor<2x2x2x3x4xf64>, %e: tensor<2x3x4x5x4xf64>) -> tensor<2x3x4x5x4xf64> {
  %y = linalg.conv_3d_ndhwc_dhwcf ins(%x, %w : tensor<2x4x5x6x3xf64>, tensor<2x2x2x3x4xf64>) outs(%e : tensor<2x3x4x5x4xf64>) -> tensor<2x3x4x5x4xf64>
  return %y : tensor<2x3x4x5x4xf64>
}

// CHECK-LABEL: func.func @takes_depthwise_filters_of_three_dimensions(
// CHECK: remat.conv ins(%{{.*}}, %{{.*}} : tensor<2x4x5x6x3xf32>, tensor<2x2x2x1x3xf32>)
func.func @takes_depthwise_filters_of_three_dimensions(%x: tensor<2x4x5x6x3xf32>, %w: tensor<2x2x2x3xf32>, %e: tensor<2x3x4x5x3xf32>) -> tensor<2x3x4x5x3xf32> {
  %y = linalg.depthwise_conv_3d_ndhwc_dhwc ins(%x, %w : tensor<2x4x5x6x3xf32>, tensor<2x2x2x3xf32>) outs(%e : tensor<2x3x4x5x3xf32>) -> tensor<2x3x4x5x3xf32>
  return %y : tensor<2x3x4x5x3xf32>
}

// As PyTorch's front end writes groups of three dimensions, for which linalg has no operation.
// CHECK-LABEL: func.func @takes_groups_of_three_dimensions(
// CHECK-SAME: %[[X:.*]]: tensor<2x6x8x8x8xf32>, %[[W:.*]]: tensor<8x3x2x2x2xf32>
// CHECK: remat.conv ins(%{{.*}}, %{{.*}} : tensor<2x6x8x8x8xf32>, tensor<8x3x2x2x2xf32>)
// CHECK-SAME: dilations = array<i64: 1, 3, 1>, padding = array<i64: 1, 1, 0, 0, 0, 0>, strides = array<i64: 2, 1, 1>} -> tensor<2x8x5x5x7xf32>
func.func @takes_groups_of_three_dimensions(%x: tensor<2x6x8x8x8xf32>, %w: tensor<8x3x2x2x2xf32>, %e: tensor<2x2x4x5x5x7xf32>) -> tensor<2x2x4x5x5x7xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: tensor.pad
  %p = tensor.pad %x low[0, 0, 1, 0, 0] high[0, 0, 1, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : f32
  } : tensor<2x6x8x8x8xf32> to tensor<2x6x10x8x8xf32>
  %gx = tensor.expand_shape %p [[0], [1, 2], [3], [4], [5]] output_shape [2, 2, 3, 10, 8, 8] : tensor<2x6x10x8x8xf32> into tensor<2x2x3x10x8x8xf32>
  %gw = tensor.expand_shape %w [[0, 1], [2], [3], [4], [5]] output_shape [2, 4, 3, 2, 2, 2] : tensor<8x3x2x2x2xf32> into tensor<2x4x3x2x2x2xf32>
  %y = linalg.generic {indexing_maps = [
      affine_map<(n, g, f, d, h, w, c, kd, kh, kw) -> (n, g, c, d * 2 + kd, h + kh * 3, w + kw)>,
      affine_map<(n, g, f, d, h, w, c, kd, kh, kw) -> (g, f, c, kd, kh, kw)>,
      affine_map<(n, g, f, d, h, w, c, kd, kh, kw) -> (n, g, f, d, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      ins(%gx, %gw : tensor<2x2x3x10x8x8xf32>, tensor<2x4x3x2x2x2xf32>) outs(%e : tensor<2x2x4x5x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<2x2x4x5x5x7xf32>
  return %y : tensor<2x2x4x5x5x7xf32>
}
