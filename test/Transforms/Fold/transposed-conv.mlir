// RUN: remat-opt %s --remat-fuse-padding -canonicalize -cse | FileCheck %s

#all = affine_map<(a, b, c, d) -> (a, b, c, d)>

// As PyTorch's front end writes a transposed convolution of stride 2 by 3, padding 1 by 0 and output padding 1 by 2.
// CHECK-LABEL: func.func @reads_elements_and_original_filters(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x5x6xf32>, %[[W:.*]]: tensor<4x6x3x4xf32>, %[[B:.*]]: tensor<2x6x10x21xf32>)
func.func @reads_elements_and_original_filters(%x: tensor<2x4x5x6xf32>, %w: tensor<4x6x3x4xf32>, %b: tensor<2x6x10x21xf32>) -> tensor<2x6x10x21xf32> {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<6x4x3x4xf32>
  // CHECK-NOT: tensor.extract
  // CHECK-NOT: tensor.insert_slice
  %f = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e : tensor<6x4x3x4xf32>) {
  ^bb0(%out: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = linalg.index 2 : index
    %3 = linalg.index 3 : index
    %4 = arith.subi %c2, %2 : index
    %5 = arith.subi %c3, %3 : index
    %6 = tensor.extract %w[%1, %0, %4, %5] : tensor<4x6x3x4xf32>
    linalg.yield %6 : f32
  } -> tensor<6x4x3x4xf32>
  %s = tensor.empty() : tensor<2x4x12x24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<2x4x12x24xf32>) -> tensor<2x4x12x24xf32>
  %i = tensor.insert_slice %x into %z[0, 0, 1, 3] [2, 4, 5, 6] [1, 1, 2, 3] : tensor<2x4x5x6xf32> into tensor<2x4x12x24xf32>
  // CHECK: %[[Y:.*]] = remat.conv_backward_data ins(%[[X]], %[[W]] : tensor<2x4x5x6xf32>, tensor<4x6x3x4xf32>)
  // CHECK-SAME: {channels_first, dilations = array<i64: 1, 1>, kept, padding = array<i64: 1, 0, 0, 0>, strides = array<i64: 2, 3>} -> tensor<2x6x10x21xf32>
  // CHECK: linalg.add {kept} ins(%[[B]], %[[Y]]
  %y = linalg.conv_2d_nchw_fchw {kept} ins(%i, %f : tensor<2x4x12x24xf32>, tensor<6x4x3x4xf32>) outs(%b : tensor<2x6x10x21xf32>) -> tensor<2x6x10x21xf32>
  return %y : tensor<2x6x10x21xf32>
}

// As JAX's front end writes one: filters are not mirrored, so their mirrored copy is read.
// CHECK-LABEL: func.func @mirrors_filters(
// CHECK-SAME: %[[X:.*]]: tensor<?x5x6x4xf32>, %[[W:.*]]: tensor<3x1x4x6xf32>
func.func @mirrors_filters(%x: tensor<?x5x6x4xf32>, %w: tensor<3x1x4x6xf32>) -> tensor<?x10x12x6xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x5x6x4xf32>
  %s = tensor.empty(%n) : tensor<?x14x12x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<?x14x12x4xf32>) -> tensor<?x14x12x4xf32>
  %i = tensor.insert_slice %x into %z[0, 3, 0, 0] [%n, 5, 6, 4] [1, 2, 2, 1] : tensor<?x5x6x4xf32> into tensor<?x14x12x4xf32>
  %e = tensor.empty(%n) : tensor<?x10x12x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x10x12x6xf32>) -> tensor<?x10x12x6xf32>
  // CHECK: %[[F:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<3x1x6x4xf32>)
  // CHECK: %[[P:.*]] = linalg.index 0
  // CHECK: %[[ROW:.*]] = arith.subi %c2, %[[P]]
  // CHECK: %[[FILTER:.*]] = linalg.index 3
  // CHECK: %[[CHANNEL:.*]] = linalg.index 2
  // CHECK: tensor.extract %[[W]][%[[ROW]], %c0, %[[FILTER]], %[[CHANNEL]]]
  // CHECK: remat.conv_backward_data ins(%[[X]], %[[F]]
  // CHECK-SAME: {dilations = array<i64: 2, 1>, padding = array<i64: 1, 2, 0, 0>, strides = array<i64: 2, 2>} -> tensor<?x10x12x6xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%i, %w : tensor<?x14x12x4xf32>, tensor<3x1x4x6xf32>) outs(%f : tensor<?x10x12x6xf32>) -> tensor<?x10x12x6xf32>
  return %y : tensor<?x10x12x6xf32>
}

// Of a filter with one position there is nothing to mirror, and a transposition needs no positions.
// CHECK-LABEL: func.func @transposes_filters_of_one_position(
// CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1x1x4x6xf32>) outs(%{{.*}} : tensor<1x1x6x4xf32>)
// CHECK: remat.conv_backward_data ins(%{{.*}}, %[[F]] : tensor<2x5x6x4xf32>, tensor<1x1x6x4xf32>)
func.func @transposes_filters_of_one_position(%x: tensor<2x5x6x4xf32>, %w: tensor<1x1x4x6xf32>, %e: tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x9x11x4xf32>
  %i = tensor.insert_slice %x into %z[0, 0, 0, 0] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xf32> into tensor<2x9x11x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<2x9x11x4xf32>, tensor<1x1x4x6xf32>) outs(%e : tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32>
  return %y : tensor<2x9x11x6xf32>
}

// CHECK-LABEL: func.func @takes_groups_and_padding_of_stuffed_images(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x5x6xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>
// CHECK: remat.conv_backward_data ins(%[[X]], %[[W]] : tensor<2x4x5x6xf32>, tensor<4x3x3x3xf32>)
// CHECK-SAME: padding = array<i64: 1, 0, 1, 0>, strides = array<i64: 2, 2>} -> tensor<2x6x10x12xf32>
func.func @takes_groups_and_padding_of_stuffed_images(%x: tensor<2x4x5x6xf32>, %w: tensor<4x3x3x3xf32>, %e: tensor<2x2x3x10x12xf32>) -> tensor<2x2x3x10x12xf32> {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %g = tensor.expand_shape %w [[0, 1], [2], [3], [4]] output_shape [2, 2, 3, 3, 3] : tensor<4x3x3x3xf32> into tensor<2x2x3x3x3xf32>
  %ef = tensor.empty() : tensor<2x3x2x3x3xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%ef : tensor<2x3x2x3x3xf32>) {
  ^bb0(%out: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = linalg.index 2 : index
    %3 = linalg.index 3 : index
    %4 = linalg.index 4 : index
    %5 = arith.subi %c2, %3 : index
    %6 = arith.subi %c2, %4 : index
    %7 = tensor.extract %g[%0, %2, %1, %5, %6] : tensor<2x2x3x3x3xf32>
    linalg.yield %7 : f32
  } -> tensor<2x3x2x3x3xf32>
  %s = tensor.empty() : tensor<2x4x9x11xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<2x4x9x11xf32>) -> tensor<2x4x9x11xf32>
  %i = tensor.insert_slice %x into %z[0, 0, 0, 0] [2, 4, 5, 6] [1, 1, 2, 2] : tensor<2x4x5x6xf32> into tensor<2x4x9x11xf32>
  %p = tensor.pad %i low[0, 0, 1, 1] high[0, 0, 2, 2] {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    tensor.yield %zero : f32
  } : tensor<2x4x9x11xf32> to tensor<2x4x12x14xf32>
  %gx = tensor.expand_shape %p [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 12, 14] : tensor<2x4x12x14xf32> into tensor<2x2x2x12x14xf32>
  %y = linalg.conv_2d_ngchw_gfchw ins(%gx, %f : tensor<2x2x2x12x14xf32>, tensor<2x3x2x3x3xf32>) outs(%e : tensor<2x2x3x10x12xf32>) -> tensor<2x2x3x10x12xf32>
  return %y : tensor<2x2x3x10x12xf32>
}

// More padding than a filter has positions cuts stuffed images: what is cut off meets no filter.
// CHECK-LABEL: func.func @looks_through_slices_of_stuffed_images(
// CHECK-SAME: %[[X:.*]]: tensor<2x8x4xf32>
// CHECK: %[[IMAGES:.*]] = tensor.expand_shape %[[X]]
// CHECK: remat.conv_backward_data ins(%[[IMAGES]], {{.*}} padding = array<i64: 0, 0, 3, 3>, strides = array<i64: 1, 2>}
func.func @looks_through_slices_of_stuffed_images(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %e: tensor<2x11x6xf32>) -> tensor<2x11x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x15x4xf32>
  %i = tensor.insert_slice %x into %z[0, 0, 0] [2, 8, 4] [1, 2, 1] : tensor<2x8x4xf32> into tensor<2x15x4xf32>
  %s = tensor.extract_slice %i[0, 1, 0] [2, 13, 4] [1, 1, 1] : tensor<2x15x4xf32> to tensor<2x13x4xf32>
  %y = linalg.conv_1d_nwc_wcf ins(%s, %w : tensor<2x13x4xf32>, tensor<3x4x6xf32>) outs(%e : tensor<2x11x6xf32>) -> tensor<2x11x6xf32>
  return %y : tensor<2x11x6xf32>
}

// With stride 1 it is a padded convolution as well: filters tell which of both reads them where they are.
// CHECK-LABEL: func.func @pads_where_filters_are_not_mirrored(
// CHECK-SAME: %[[X:.*]]: tensor<2x5x6x4xf32>, %[[W:.*]]: tensor<3x3x4x6xf32>
// CHECK: remat.conv ins(%[[X]], %[[W]]
// CHECK-SAME: padding = array<i64: 1, 1, 1, 1>
func.func @pads_where_filters_are_not_mirrored(%x: tensor<2x5x6x4xf32>, %w: tensor<3x3x4x6xf32>, %e: tensor<2x5x6x6xf32>) -> tensor<2x5x6x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x7x8x4xf32>
  %i = tensor.insert_slice %x into %z[0, 1, 1, 0] [2, 5, 6, 4] [1, 1, 1, 1] : tensor<2x5x6x4xf32> into tensor<2x7x8x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<2x7x8x4xf32>, tensor<3x3x4x6xf32>) outs(%e : tensor<2x5x6x6xf32>) -> tensor<2x5x6x6xf32>
  return %y : tensor<2x5x6x6xf32>
}

// CHECK-LABEL: func.func @mirrors_filters_of_stride_one_back(
// CHECK-SAME: %[[X:.*]]: tensor<2x1x1x4xf32>, %[[W:.*]]: tensor<4x6x3x3xf32>
// CHECK: remat.conv_backward_data {{.*}} padding = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}
func.func @mirrors_filters_of_stride_one_back(%x: tensor<2x1x1x4xf32>, %w: tensor<4x6x3x3xf32>, %e: tensor<2x3x3x6xf32>) -> tensor<2x3x3x6xf32> {
  %c2 = arith.constant 2 : index
  %ef = tensor.empty() : tensor<3x3x4x6xf32>
  %f = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%ef : tensor<3x3x4x6xf32>) {
  ^bb0(%out: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = linalg.index 2 : index
    %3 = linalg.index 3 : index
    %4 = arith.subi %c2, %0 : index
    %5 = arith.subi %c2, %1 : index
    %6 = tensor.extract %w[%2, %3, %4, %5] : tensor<4x6x3x3xf32>
    linalg.yield %6 : f32
  } -> tensor<3x3x4x6xf32>
  %z = arith.constant dense<0.0> : tensor<2x5x5x4xf32>
  %i = tensor.insert_slice %x into %z[0, 2, 2, 0] [2, 1, 1, 4] [1, 1, 1, 1] : tensor<2x1x1x4xf32> into tensor<2x5x5x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %f : tensor<2x5x5x4xf32>, tensor<3x3x4x6xf32>) outs(%e : tensor<2x3x3x6xf32>) -> tensor<2x3x3x6xf32>
  return %y : tensor<2x3x3x6xf32>
}

// Names and borders of regions between its parts move, and change no bit.
// CHECK-LABEL: func.func @finds_it_across_borders(
// CHECK-SAME: %[[X:.*]]: tensor<2x5x6x4xf32>, %[[W:.*]]: tensor<3x3x4x6xf32>
// CHECK-NOT: tensor.insert_slice
// CHECK: remat.region {{.*}}%[[X]]
// CHECK: remat.conv_backward_data ins(%{{.*}}, %{{.*}} : tensor<2x5x6x4xf32>, tensor<3x3x6x4xf32>)
func.func @finds_it_across_borders(%x: tensor<2x5x6x4xf32>, %w: tensor<3x3x4x6xf32>, %e: tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x11x13x4xf32>
  %i = tensor.insert_slice %x into %z[0, 1, 1, 0] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xf32> into tensor<2x11x13x4xf32>
  %r = remat.region (%s = %i : tensor<2x11x13x4xf32>, %v = %w : tensor<3x3x4x6xf32>, %d = %e : tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32> {
    %y = linalg.conv_2d_nhwc_hwcf ins(%s, %v : tensor<2x11x13x4xf32>, tensor<3x3x4x6xf32>) outs(%d : tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32>
    remat.yield %y : tensor<2x9x11x6xf32>
  }
  return %r : tensor<2x9x11x6xf32>
}

// CHECK-LABEL: func.func @leaves_images_between_other_values(
// CHECK: tensor.insert_slice
// CHECK: remat.conv ins
func.func @leaves_images_between_other_values(%x: tensor<2x5x6x4xf32>, %w: tensor<3x3x4x6xf32>, %e: tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32> {
  %z = arith.constant dense<1.0> : tensor<2x11x13x4xf32>
  %i = tensor.insert_slice %x into %z[0, 1, 1, 0] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xf32> into tensor<2x11x13x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<2x11x13x4xf32>, tensor<3x3x4x6xf32>) outs(%e : tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32>
  return %y : tensor<2x9x11x6xf32>
}

// CHECK-LABEL: func.func @leaves_images_that_are_put_into_a_part_of_the_channels(
// CHECK: tensor.insert_slice
// CHECK: remat.conv ins
func.func @leaves_images_that_are_put_into_a_part_of_the_channels(%x: tensor<2x5x6x4xf32>, %w: tensor<3x3x5x6xf32>, %e: tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x11x13x5xf32>
  %i = tensor.insert_slice %x into %z[0, 1, 1, 1] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xf32> into tensor<2x11x13x5xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<2x11x13x5xf32>, tensor<3x3x5x6xf32>) outs(%e : tensor<2x9x11x6xf32>) -> tensor<2x9x11x6xf32>
  return %y : tensor<2x9x11x6xf32>
}

// CHECK-LABEL: func.func @leaves_a_batch_that_may_be_a_part(
// CHECK: tensor.insert_slice
// CHECK: remat.conv ins
func.func @leaves_a_batch_that_may_be_a_part(%x: tensor<?x5x6x4xf32>, %n: index, %w: tensor<3x3x4x6xf32>, %z: tensor<?x11x13x4xf32>, %e: tensor<?x9x11x6xf32>) -> tensor<?x9x11x6xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%z : tensor<?x11x13x4xf32>) -> tensor<?x11x13x4xf32>
  %i = tensor.insert_slice %x into %f[0, 1, 1, 0] [%n, 5, 6, 4] [1, 2, 2, 1] : tensor<?x5x6x4xf32> into tensor<?x11x13x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<?x11x13x4xf32>, tensor<3x3x4x6xf32>) outs(%e : tensor<?x9x11x6xf32>) -> tensor<?x9x11x6xf32>
  return %y : tensor<?x9x11x6xf32>
}

// CHECK-LABEL: func.func @leaves_strides_on_both_sides(
// CHECK: tensor.insert_slice
// CHECK: remat.conv ins
// CHECK-SAME: strides = array<i64: 2, 2>
func.func @leaves_strides_on_both_sides(%x: tensor<2x5x6x4xf32>, %w: tensor<3x3x4x6xf32>, %e: tensor<2x5x6x6xf32>) -> tensor<2x5x6x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x11x13x4xf32>
  %i = tensor.insert_slice %x into %z[0, 1, 1, 0] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xf32> into tensor<2x11x13x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%i, %w : tensor<2x11x13x4xf32>, tensor<3x3x4x6xf32>) outs(%e : tensor<2x5x6x6xf32>) -> tensor<2x5x6x6xf32>
  return %y : tensor<2x5x6x6xf32>
}

// CHECK-LABEL: func.func @leaves_zeros_in_front_that_no_element_reaches(
// CHECK: tensor.insert_slice
// CHECK: remat.conv ins
func.func @leaves_zeros_in_front_that_no_element_reaches(%x: tensor<2x5x6x4xf32>, %w: tensor<3x3x4x6xf32>, %e: tensor<2x11x11x6xf32>) -> tensor<2x11x11x6xf32> {
  %z = arith.constant dense<0.0> : tensor<2x13x13x4xf32>
  %i = tensor.insert_slice %x into %z[0, 3, 1, 0] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xf32> into tensor<2x13x13x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<2x13x13x4xf32>, tensor<3x3x4x6xf32>) outs(%e : tensor<2x11x11x6xf32>) -> tensor<2x11x11x6xf32>
  return %y : tensor<2x11x11x6xf32>
}

// CHECK-LABEL: func.func @leaves_types_that_the_library_does_not_have(
// CHECK: tensor.insert_slice
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @leaves_types_that_the_library_does_not_have(%x: tensor<2x5x6x4xbf16>, %w: tensor<3x3x4x6xbf16>, %e: tensor<2x9x11x6xbf16>) -> tensor<2x9x11x6xbf16> {
  %z = arith.constant dense<0.0> : tensor<2x11x13x4xbf16>
  %i = tensor.insert_slice %x into %z[0, 1, 1, 0] [2, 5, 6, 4] [1, 2, 2, 1] : tensor<2x5x6x4xbf16> into tensor<2x11x13x4xbf16>
  %y = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<2x11x13x4xbf16>, tensor<3x3x4x6xbf16>) outs(%e : tensor<2x9x11x6xbf16>) -> tensor<2x9x11x6xbf16>
  return %y : tensor<2x9x11x6xbf16>
}
