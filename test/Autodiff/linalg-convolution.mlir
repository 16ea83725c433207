// RUN: remat-opt %s -remat-differentiate -split-input-file | FileCheck %s

// Both adjoints keep the forward's loops and maps with the roles exchanged, say what
// they are, and take no memory beside their result.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK: func.func @adjoints_of_a_strided_convolution_grad(
// CHECK: linalg.generic {indexing_maps = [#[[W]], #[[Y]], #[[X]]], iterator_types = ["parallel", "reduction", "reduction", "reduction", "reduction", "reduction", "parallel"]}
// CHECK-SAME: remat.conv = "backward_data", remat.conv_of = "linalg.conv_2d_nhwc_hwcf", remat.dilations = dense<1> : tensor<2xi64>
// CHECK-SAME: remat.strides = dense<2> : tensor<2xi64>
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[Y]], #[[W]]], iterator_types = ["reduction", "reduction", "reduction", "parallel", "parallel", "parallel", "parallel"]}
// CHECK-SAME: remat.conv = "backward_filter"
// CHECK-NOT: tensor.insert_slice
// CHECK: return
func.func @adjoints_of_a_strided_convolution(%x: tensor<2x9x9x3xf32> {opt.param}, %w: tensor<3x3x3x5xf32> {opt.param}, %z: tensor<2x4x4x5xf32>, %init: tensor<f32>) -> tensor<f32> {
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<2x9x9x3xf32>, tensor<3x3x3x5xf32>) outs(%z : tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<2x4x4x5xf32>) outs(%init : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %l : tensor<f32>
}

// -----

// Neither the image nor the window of an average is read.
// CHECK-LABEL: func.func @sum_pooling_reads_nothing_grad(
// CHECK: linalg.pooling_nhwc_sum
// CHECK: linalg.reduce
// CHECK-NOT: %arg0
// CHECK-NOT: %arg1
// CHECK: linalg.generic {{.*}} ins(%[[DY:.*]], %{{.*}}, %{{.*}} : tensor<1x2x2x3xf32>, tensor<2xi8>, tensor<2xi8>)
// CHECK-NOT: remat.conv
// CHECK: return
func.func @sum_pooling_reads_nothing(%x: tensor<1x4x4x3xf32> {opt.param}, %window: tensor<2x2xf32>, %z: tensor<1x2x2x3xf32>, %init: tensor<f32>) -> tensor<f32> {
  %y = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>}
      ins(%x, %window : tensor<1x4x4x3xf32>, tensor<2x2xf32>) outs(%z : tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<1x2x2x3xf32>) outs(%init : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %l : tensor<f32>
}

// -----

// The first maximum of a window takes the cotangent: a flag for each result says that
// it was given away.
// CHECK-LABEL: func.func @max_pooling_gives_to_the_first_grad(
// CHECK: %[[Y:.*]] = linalg.pooling_nhwc_max
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[Y]], %{{.*}} outs(%{{.*}}, %{{.*}} : tensor<1x4x4x3xf32>, tensor<1x2x2x3xi8>)
// CHECK: arith.cmpf oeq
// CHECK: arith.cmpi eq
// CHECK: arith.andi
func.func @max_pooling_gives_to_the_first(%x: tensor<1x4x4x3xf32> {opt.param}, %window: tensor<2x2xf32>, %z: tensor<1x2x2x3xf32>, %init: tensor<f32>) -> tensor<f32> {
  %y = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>}
      ins(%x, %window : tensor<1x4x4x3xf32>, tensor<2x2xf32>) outs(%z : tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<1x2x2x3xf32>) outs(%init : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %l : tensor<f32>
}
