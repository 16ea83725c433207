// RUN: remat-opt %s --remat-differentiate | FileCheck %s

// CHECK-LABEL: func.func @loss_grad(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8x8x3xf32>, %[[W:[^:]*]]: tensor<3x3x3x4xf32>
func.func @loss(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x8x4xf32>
  %y = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%e : tensor<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x8x8x4xf32>
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%y : tensor<2x8x8x4xf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %acc, %a : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  // Nobody asks for the gradient of the images.
  // CHECK-NOT: conv_2d_backward_data
  // CHECK: %[[DW:.*]] = remat.conv_backward_filter ins(%[[X]], %{{.*}} : tensor<2x8x8x3xf32>, tensor<2x8x8x4xf32>)
  // CHECK: return %{{.*}}, %[[DW]]
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @channels_first_grad(
func.func @channels_first(%x: tensor<2x3x8x8xf32> {opt.param}, %w: tensor<1x3x3x3xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<2x1x6x6xf32>
  %y = remat.conv ins(%x, %w : tensor<2x3x8x8xf32>, tensor<1x3x3x3xf32>) outs(%e : tensor<2x1x6x6xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x1x6x6xf32>
  %i = arith.constant 0 : index
  %l = tensor.extract %y[%i, %i, %i, %i] : tensor<2x1x6x6xf32>
  %r = tensor.from_elements %l : tensor<f32>
  // CHECK: remat.conv_backward_data {{.*}} {channels_first,
  return %r : tensor<f32>
}

// A transposed convolution reads what a convolution does: elements, not the zeros between them.
// CHECK-LABEL: func.func @transposed_grad(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4x4x3xf32> {{[^,]*}}, %[[W:[^:]*]]: tensor<3x3x5x3xf32>
func.func @transposed(%x: tensor<2x4x4x3xf32> {opt.param}, %w: tensor<3x3x5x3xf32> {opt.param}) -> tensor<f32> {
  %e = tensor.empty() : tensor<2x8x8x5xf32>
  %y = remat.conv_backward_data ins(%x, %w : tensor<2x4x4x3xf32>, tensor<3x3x5x3xf32>) outs(%e : tensor<2x8x8x5xf32>)
      {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 1, 0>} -> tensor<2x8x8x5xf32>
  %i = arith.constant 0 : index
  %l = tensor.extract %y[%i, %i, %i, %i] : tensor<2x8x8x5xf32>
  %r = tensor.from_elements %l : tensor<f32>
  // CHECK: %[[DW:.*]] = remat.conv_backward_filter ins(%[[DY:.*]], %[[X]] : tensor<2x8x8x5xf32>, tensor<2x4x4x3xf32>)
  // CHECK-SAME: padding = array<i64: 1, 0, 1, 0>, {{.*}}strides = array<i64: 2, 2>
  // CHECK: %[[DX:.*]] = remat.conv ins(%[[DY]], %[[W]] : tensor<2x8x8x5xf32>, tensor<3x3x5x3xf32>)
  // CHECK: return %{{.*}}, %[[DX]], %[[DW]]
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @filter_gradient_grad(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8x8x5xf32> {{[^,]*}}, %[[DY:[^:]*]]: tensor<2x4x4x3xf32>
func.func @filter_gradient(%x: tensor<2x8x8x5xf32> {opt.param}, %dy: tensor<2x4x4x3xf32> {opt.param}) -> tensor<f32> {
  %e = tensor.empty() : tensor<3x3x5x3xf32>
  %y = remat.conv_backward_filter ins(%x, %dy : tensor<2x8x8x5xf32>, tensor<2x4x4x3xf32>) outs(%e : tensor<3x3x5x3xf32>)
      {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 1, 0>} -> tensor<3x3x5x3xf32>
  %i = arith.constant 0 : index
  %l = tensor.extract %y[%i, %i, %i, %i] : tensor<3x3x5x3xf32>
  %r = tensor.from_elements %l : tensor<f32>
  // CHECK: %[[D:.*]] = remat.conv ins(%[[X]], %[[CT:.*]] : tensor<2x8x8x5xf32>, tensor<3x3x5x3xf32>)
  // CHECK: %[[DX:.*]] = remat.conv_backward_data ins(%[[DY]], %[[CT]] : tensor<2x4x4x3xf32>, tensor<3x3x5x3xf32>)
  // CHECK: return %{{.*}}, %[[DX]], %[[D]]
  return %r : tensor<f32>
}
