// RUN: remat-opt %s --split-input-file --remat-train-to-tensors="loss-tile=640" | FileCheck %s --check-prefix=SMALL
// RUN: remat-opt %s --split-input-file --remat-train-to-tensors="policy=nothing_saveable" | FileCheck %s --check-prefix=DEFAULT
// RUN: remat-opt %s --split-input-file --remat-train-to-tensors="loss-tile=0" | FileCheck %s --check-prefix=WHOLE

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>

// No divisor of 23 makes tiles of two rows or more: there are five of three rows and two of four, each with one product.
// SMALL: remat.train_step @rests
// SMALL: func @rests
// SMALL: scf.for {{.*}} = %c0 to %c5
// SMALL-NOT: tensor<8x40xf32>) outs({{.*}}x40xf32>
// SMALL: linalg.matmul {{.*}} ins({{.*}} : tensor<3x8xf32>, tensor<8x40xf32>)
// SMALL-NOT: linalg.matmul
// SMALL: } {remat.phase = "backward"}
// SMALL-NEXT: scf.for {{.*}} = %c0 to %c2
// SMALL: linalg.matmul {{.*}} ins({{.*}} : tensor<4x8xf32>, tensor<8x40xf32>)
// SMALL-NOT: linalg.matmul
// SMALL: } {remat.phase = "backward"}
// SMALL-NOT: scf.for
// Small logits stay whole unless an option asks for small tiles.
// DEFAULT: remat.train_step @rests
// DEFAULT: linalg.matmul {{.*}} -> tensor<23x40xf32>
// WHOLE: remat.train_step @rests
// WHOLE: linalg.matmul {{.*}} -> tensor<23x40xf32>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @rests for @loss optimizer(@sgd) {eager}
func.func @loss(%x: tensor<23x8xf32>, %w: tensor<8x40xf32> {opt.param}, %soft: tensor<23x40xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<23x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<23x40xf32>) -> tensor<23x40xf32>
  %y = linalg.matmul ins(%x, %w : tensor<23x8xf32>, tensor<8x40xf32>) outs(%z : tensor<23x40xf32>) -> tensor<23x40xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#all, #all, affine_map<(r, v) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y, %soft : tensor<23x40xf32>, tensor<23x40xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%l: f32, %s: f32, %sum: f32):
    %d = arith.subf %l, %s : f32
    %p = arith.mulf %d, %d : f32
    %n = arith.addf %sum, %p : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#all = affine_map<(r, v) -> (r, v)>

// The backward recomputes the activations: the loop of the forward reads these then, and computes logits once. Tiles have at
// most 256 rows.
// SMALL: remat.train_step @from_activations_computed_again
// DEFAULT: remat.train_step @from_activations_computed_again
// DEFAULT: func @from_activations_computed_again
// DEFAULT-NOT: tensor<2048x16384xf32>
// DEFAULT: scf.for {{.*}} = %c0 to %c8
// DEFAULT: linalg.matmul {{.*}} ins({{.*}} : tensor<256x64xf32>, tensor<64x16384xf32>)
// DEFAULT-NOT: tensor<64x16384xf32>) outs({{.*}} : tensor<256x16384xf32>)
// DEFAULT: } {remat.phase = "backward"}
// DEFAULT-NOT: scf.for
// WHOLE: remat.train_step @from_activations_computed_again
// WHOLE: linalg.matmul {{.*}} -> tensor<2048x16384xf32>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @from_activations_computed_again for @loss optimizer(@sgd) {eager}
func.func @loss(%x: tensor<2048x64xf32>, %u: tensor<64x64xf32> {opt.param}, %w: tensor<64x16384xf32> {opt.param}) -> tensor<f32> {
  %loss = remat.region (%a = %x : tensor<2048x64xf32>, %b = %u : tensor<64x64xf32>, %c = %w : tensor<64x16384xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %eh = tensor.empty() : tensor<2048x64xf32>
    %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<2048x64xf32>) -> tensor<2048x64xf32>
    %h = linalg.matmul ins(%a, %b : tensor<2048x64xf32>, tensor<64x64xf32>) outs(%zh : tensor<2048x64xf32>) -> tensor<2048x64xf32>
    %e = tensor.empty() : tensor<2048x16384xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2048x16384xf32>) -> tensor<2048x16384xf32>
    %y = linalg.matmul ins(%h, %c : tensor<2048x64xf32>, tensor<64x16384xf32>) outs(%z : tensor<2048x16384xf32>) -> tensor<2048x16384xf32>
    %e0 = tensor.empty() : tensor<f32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
    %l = linalg.generic {indexing_maps = [#all, affine_map<(r, v) -> ()>], iterator_types = ["reduction", "reduction"]}
        ins(%y : tensor<2048x16384xf32>) outs(%z0 : tensor<f32>) {
    ^bb0(%l: f32, %sum: f32):
      %p = math.sin %l : f32
      %n = arith.addf %sum, %p : f32
      linalg.yield %n : f32
    } -> tensor<f32>
    remat.yield %l : tensor<f32>
  }
  return %loss : tensor<f32>
}
