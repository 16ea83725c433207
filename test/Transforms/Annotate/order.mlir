// Readers of a value contribute to its cotangent in their order, which regions must not change.
// RUN: remat-opt %s -split-input-file -remat-annotate="ops=linalg.generic" 2>&1 | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// The product reads %w after the first sum, and the last kernel reads both: two regions.
// CHECK: remark: "linalg.generic" becomes 2 regions: {{.*}}, or reads a value before one part and behind another
// CHECK-LABEL: func.func @between(
// CHECK: remat.region
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: remat.yield
// CHECK: linalg.matmul
// CHECK: remat.region
// CHECK: math.tanh
func.func @between(%x: tensor<8x4xf32> {remat.data = "x"}, %w: tensor<4x4xf32> {opt.param}) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#id, #j], iterator_types = ["reduction", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%z0 : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%z1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = linalg.generic {indexing_maps = [#id, #j, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b, %a : tensor<8x4xf32>, tensor<4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = math.tanh %p : f32
    %1 = arith.mulf %0, %q : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// No value with a cotangent is read twice: one region, after the product.
// CHECK-LABEL: func.func @apart(
// CHECK: linalg.matmul
// CHECK: remat.region
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: math.tanh
// CHECK: remat.yield
// CHECK-NOT: remat.region
func.func @apart(%x: tensor<8x4xf32> {remat.data = "x"}, %w: tensor<4x4xf32> {opt.param}, %v: tensor<4x4xf32> {opt.param}) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#id, #j], iterator_types = ["reduction", "parallel"]}
      ins(%v : tensor<4x4xf32>) outs(%z0 : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%z1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = linalg.generic {indexing_maps = [#id, #j, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b, %a : tensor<8x4xf32>, tensor<4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = math.tanh %p : f32
    %1 = arith.mulf %0, %q : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}
