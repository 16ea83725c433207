// How many rows a tile has where nothing says how many bytes.
// RUN: remat-opt %s --remat-tile-loss-heads="rows=2 threshold=1" | FileCheck %s --check-prefix=TILES
// RUN: remat-opt %s --remat-tile-loss-heads="rows=1 threshold=1" | FileCheck %s --check-prefix=TILES
// RUN: remat-opt %s --remat-tile-loss-heads="rows=3 threshold=1" | FileCheck %s --check-prefix=WHOLE

// A logit is the sum of eight terms, two rows for which are twice as many as one.
// TILES: scf.for
// TILES: linalg.matmul {{.*}} -> tensor<4x40xf32>
// Six rows at most, of which there are less than three tiles.
// WHOLE-NOT: scf.for
// WHOLE: linalg.matmul {{.*}} -> tensor<12x40xf32>

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
func.func @loss(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %labels: tensor<12xi64>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
  %er = tensor.empty() : tensor<12xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<12xf32>) -> tensor<12xf32>
  %chosen = linalg.generic {indexing_maps = [#all, #rows, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%logits, %labels : tensor<12x40xf32>, tensor<12xi64>) outs(%zr : tensor<12xf32>) {
  ^bb0(%l: f32, %label: i64, %sum: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %label : i64 to index
    %is = arith.cmpi eq, %j, %k : index
    %s = arith.select %is, %l, %zero : f32
    %n = arith.addf %sum, %s : f32
    linalg.yield %n : f32
  } -> tensor<12xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%chosen : tensor<12xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %n = arith.addf %sum, %a : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
