// RUN: split-file %s %t
// RUN: remat-opt %t/attention.mlir -remat-train-to-tensors -remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=ATTENTION
// RUN: remat-opt %t/convolution.mlir -remat-train-to-tensors -remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONVOLUTION

// Constants of the backward are hoisted to the top of the step. The operations
// after them are a forward all the same, and keep residuals.

// ATTENTION: live at the peak 2112
// ATTENTION-NEXT: residuals 1024
// ATTENTION-NEXT: gradients 0
// ATTENTION-NEXT: recomputed 0
// ATTENTION-NEXT: workspaces 0
// ATTENTION-NEXT: temporaries 1088
// ATTENTION: copied per call 0

// Convolutions take nothing besides operands and results. The most residuals are alive before the peak, when the second
// convolution's result still is.
// CONVOLUTION: live at the peak 3200
// CONVOLUTION-NEXT: residuals 2048
// CONVOLUTION-NEXT: gradients 576
// CONVOLUTION-NEXT: recomputed 0
// CONVOLUTION-NEXT: workspaces 0
// CONVOLUTION-NEXT: temporaries 576
// CONVOLUTION-NEXT: residuals at most 2624
// CONVOLUTION: copied per call 0

//--- attention.mlir
opt.optimizer @sgd = #opt.sgd<lr = 1.000000e-01>
func.func @loss(%w: tensor<16x16xf32> {opt.param = "w"}, %x: tensor<16x16xf32> {remat.data = "x"}) -> (tensor<f32> {remat.loss}) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %q = linalg.matmul ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.erf %a : f32
    %1 = arith.mulf %0, %half : f32
    %2 = arith.mulf %1, %a : f32
    linalg.yield %2 : f32
  } -> tensor<16x16xf32>
  %p = linalg.softmax dimension(1) ins(%g : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = tensor.empty() : tensor<f32>
  %sz = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%p : tensor<16x16xf32>) outs(%sz : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
remat.train_step @step for @loss optimizer(@sgd) {eager}

//--- convolution.mlir
opt.optimizer @sgd = #opt.sgd<lr = 1.000000e-01>
func.func @loss(%w: tensor<3x3x4x4xf32> {opt.param = "w"}, %v: tensor<3x3x4x4xf32> {opt.param = "v"}, %x: tensor<1x10x10x4xf32> {remat.data = "x"}) -> (tensor<f32> {remat.loss}) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<1x8x8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %c = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x10x10x4xf32>, tensor<3x3x4x4xf32>) outs(%z : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, j, k, l)>, affine_map<(i, j, k, l) -> (i, j, k, l)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x8x8x4xf32>) outs(%e : tensor<1x8x8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.erf %a : f32
    %1 = arith.mulf %0, %half : f32
    linalg.yield %1 : f32
  } -> tensor<1x8x8x4xf32>
  %e2 = tensor.empty() : tensor<1x6x6x4xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %d = linalg.conv_2d_nhwc_hwcf ins(%r, %v : tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) outs(%z2 : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %s = tensor.empty() : tensor<f32>
  %sz = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, j, k, l)>, affine_map<(i, j, k, l) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%d : tensor<1x6x6x4xf32>) outs(%sz : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
remat.train_step @step for @loss optimizer(@sgd) {eager}
