// RUN: not remat-opt %s -remat-annotate="blocks" 2>&1 | FileCheck %s

// The bodies of two kernels differ in the origin of an operand: an argument in
// one, a value from outside in the other. So these are not layers, in either
// order.

// CHECK: @operand_or_outside has no layers
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @operand_or_outside(%x: tensor<8x8xf32>, %s: f32, %w0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p0 : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.mulf %in, %in : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p1 : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.mulf %in, %s : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  return %h1 : tensor<8x8xf32>
}
