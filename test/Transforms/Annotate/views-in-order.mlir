// RUN: remat-opt %s --remat-annotate="ops=linalg.matmul policy=nothing_saveable" | FileCheck %s

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Products read a weight instead of its transposition, so that the sums of its rows stand between two of its uses.
// CHECK-LABEL: func.func @transposed(
// CHECK: remat.region
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: remat.region
// CHECK: linalg.matmul
func.func @transposed(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {opt.param}) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %ea = tensor.empty() : tensor<4x8xf32>
  %za = linalg.fill ins(%zero : f32) outs(%ea : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%za : tensor<4x8xf32>) -> tensor<4x8xf32>
  %er = tensor.empty() : tensor<8xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%w : tensor<8x8xf32>) outs(%zr : tensor<8xf32>) {
  ^bb0(%u: f32, %acc: f32):
    %s = arith.addf %acc, %u : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.matmul ins(%a, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%za : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b, %r : tensor<4x8xf32>, tensor<8xf32>
}

// The same by way of two calls.
// CHECK-LABEL: func.func private @layer(
// CHECK: remat.region
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: remat.region
// CHECK: linalg.matmul
func.func private @layer(%x: tensor<4x8xf32>, %t: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %za = linalg.fill ins(%zero : f32) outs(%ea : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%za : tensor<4x8xf32>) -> tensor<4x8xf32>
  %er = tensor.empty() : tensor<8xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%w : tensor<8x8xf32>) outs(%zr : tensor<8xf32>) {
  ^bb0(%u: f32, %acc: f32):
    %s = arith.addf %acc, %u : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.matmul ins(%a, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%za : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b, %r : tensor<4x8xf32>, tensor<8xf32>
}
func.func private @pass(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %t: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %y, %r = func.call @layer(%x, %t, %w) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %y, %r : tensor<4x8xf32>, tensor<8xf32>
}
func.func @loss(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {opt.param}) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %y, %r = func.call @pass(%x, %w, %t) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %y, %r : tensor<4x8xf32>, tensor<8xf32>
}

// Arguments of which each call makes another value.
// CHECK-LABEL: func.func private @other(
// CHECK-COUNT-1: remat.region
// CHECK-NOT: remat.region
// CHECK: return
func.func private @other(%x: tensor<4x8xf32>, %t: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %za = linalg.fill ins(%zero : f32) outs(%ea : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%za : tensor<4x8xf32>) -> tensor<4x8xf32>
  %er = tensor.empty() : tensor<8xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%w : tensor<8x8xf32>) outs(%zr : tensor<8xf32>) {
  ^bb0(%u: f32, %acc: f32):
    %s = arith.addf %acc, %u : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.matmul ins(%a, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%za : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b, %r : tensor<4x8xf32>, tensor<8xf32>
}
func.func @two(%x: tensor<4x8xf32>, %v: tensor<8x8xf32> {opt.param}, %w: tensor<8x8xf32> {opt.param}) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %y, %r = func.call @other(%x, %v, %w) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %y, %r : tensor<4x8xf32>, tensor<8xf32>
}
