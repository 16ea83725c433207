// RUN: not remat-opt %s -remat-annotate=blocks 2>&1 | FileCheck %s

// A recurrence over time has the same parameters in all iterations: its step is
// not a layer, be it that it reads other data each time.
// CHECK: error: @recurrence has no layers
func.func @recurrence(%x: tensor<3x4x8xf32>, %h: tensor<4x8xf32>, %w: tensor<8x8xf32> {opt.param}) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %h) -> (tensor<4x8xf32>) {
    %slice = tensor.extract_slice %x[%i, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<3x4x8xf32> to tensor<1x4x8xf32>
    %u = tensor.collapse_shape %slice [[0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
    %empty = tensor.empty() : tensor<4x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
    %p = linalg.matmul ins(%s, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = arith.addf %u, %p : tensor<4x8xf32>
    %y = math.tanh %t : tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
