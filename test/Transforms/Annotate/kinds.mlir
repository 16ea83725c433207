// RUN: remat-opt %s -remat-annotate="ops=softmax report" 2>&1 | FileCheck %s --check-prefix=SOFTMAX
// RUN: remat-opt %s -remat-annotate="ops=norm" | FileCheck %s --check-prefix=NORM
// RUN: remat-opt %s -remat-annotate="ops=math.exp,dot name=n" | FileCheck %s --check-prefix=NAME
// RUN: remat-opt %s -remat-annotate="whole recompute=elementwise" | FileCheck %s --check-prefix=RECOMPUTE
// RUN: remat-opt %S/Inputs/torch_mlp.mlir -remat-annotate="ops=norm report" 2>&1 | FileCheck %s --check-prefix=TORCH
// RUN: remat-opt %S/Inputs/jax_blocks.mlir -remat-annotate="ops=softmax report" 2>&1 | FileCheck %s --check-prefix=JAX

// The f64 island of the variance included.
// TORCH: @loss: 3 regions
// TORCH: norm {{ *[0-9]+}} 0 512 512
// TORCH-NEXT: norm
// TORCH-NEXT: norm

// JAX: @loss: 3 regions
// JAX: softmax {{ *[0-9]+}} 0 576 576
// JAX-NEXT: softmax
// JAX-NEXT: softmax

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// SOFTMAX: @softmax_of_a_normalized_product: 1 regions
// SOFTMAX-LABEL: func.func @softmax_of_a_normalized_product
// SOFTMAX: linalg.matmul
// SOFTMAX: remat.region
// SOFTMAX: arith.maximumf
// SOFTMAX: math.exp
// SOFTMAX: arith.divf
// SOFTMAX: remat.yield
// SOFTMAX: return

// NORM-LABEL: func.func @softmax_of_a_normalized_product
// NORM: remat.region
// NORM: arith.mulf
// NORM: math.rsqrt
// NORM: arith.mulf
// NORM: remat.yield
// NORM-NOT: remat.region
// NORM: linalg.matmul
// NORM: return

// NAME-LABEL: func.func @softmax_of_a_normalized_product
// NAME: %[[P:.*]] = linalg.matmul
// NAME-NEXT: remat.name "n" %[[P]]
// NAME: %[[E:.*]] = linalg.generic
// NAME: math.exp
// NAME: remat.name "n"
// NAME-NOT: remat.name
// NAME: return

// RECOMPUTE-LABEL: func.func @softmax_of_a_normalized_product
// RECOMPUTE: remat.region policy(#remat.save_anything_except_names<"recomputed">)
// RECOMPUTE: math.rsqrt
// RECOMPUTE: remat.name "recomputed"
// RECOMPUTE: linalg.matmul
// RECOMPUTE-NOT: remat.name
// RECOMPUTE: arith.maximumf
func.func @softmax_of_a_normalized_product(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {opt.param}) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %wide = tensor.empty() : tensor<4x8xf32>
  %thin = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<4x8xf32>) -> tensor<4x8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%thin : tensor<4xf32>) -> tensor<4xf32>
  %lows = linalg.fill ins(%low : f32) outs(%thin : tensor<4xf32>) -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %acc, %s : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %root = math.rsqrt %squares : tensor<4xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %root : tensor<4x8xf32>, tensor<4xf32>) outs(%wide : tensor<4x8xf32>) {
  ^bb0(%a: f32, %r: f32, %out: f32):
    %s = arith.mulf %a, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %p = linalg.matmul ins(%h, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x8xf32>) outs(%lows : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.maximumf %a, %acc : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %shifted = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %max : tensor<4x8xf32>, tensor<4xf32>) outs(%wide : tensor<4x8xf32>) {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%shifted : tensor<4x8xf32>) outs(%wide : tensor<4x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<4x8xf32>, tensor<4xf32>) outs(%wide : tensor<4x8xf32>) {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %d = arith.divf %a, %s : f32
    linalg.yield %d : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
