// RUN: remat-opt %s -split-input-file --remat-tile-loss-heads="tile-bytes=800 threshold=800" -canonicalize -cse | FileCheck %s

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// A hidden layer before a few classes looks like logits. A maximum over the classes is outside of the loop, and so is the
// choice of elements from the differences with it.
// CHECK-LABEL: @picks_from_what_is_computed_after_the_loop
// CHECK: %[[CLASSES:.*]] = scf.for %{{.*}} -> (tensor<12x2xf32>)
// CHECK: linalg.matmul {{.*}} -> tensor<4x40xf32>
// CHECK: linalg.matmul {{.*}} -> tensor<4x2xf32>
// CHECK: scf.yield
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[CLASSES]]
// CHECK: %[[SHIFTED:.*]] = linalg.generic {{.*}} ins(%[[CLASSES]], %
// CHECK: tensor.extract %[[SHIFTED]][
func.func @picks_from_what_is_computed_after_the_loop(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %v: tensor<40x2xf32>,
                                                      %labels: tensor<12xindex>) -> tensor<12xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<12x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
  %hidden = linalg.matmul ins(%x, %w : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
  %e2 = tensor.empty() : tensor<12x2xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x2xf32>) -> tensor<12x2xf32>
  %classes = linalg.matmul ins(%hidden, %v : tensor<12x40xf32>, tensor<40x2xf32>) outs(%z2 : tensor<12x2xf32>) -> tensor<12x2xf32>
  %er = tensor.empty() : tensor<12xf32>
  %start = linalg.fill ins(%low : f32) outs(%er : tensor<12xf32>) -> tensor<12xf32>
  %highest = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%classes : tensor<12x2xf32>) outs(%start : tensor<12xf32>) {
  ^bb0(%l: f32, %most: f32):
    %n = arith.maximumf %most, %l : f32
    linalg.yield %n : f32
  } -> tensor<12xf32>
  %shifted = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%classes, %highest : tensor<12x2xf32>, tensor<12xf32>) outs(%e2 : tensor<12x2xf32>) {
  ^bb0(%l: f32, %most: f32, %out: f32):
    %n = arith.subf %l, %most : f32
    linalg.yield %n : f32
  } -> tensor<12x2xf32>
  %chosen = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%labels : tensor<12xindex>) outs(%er : tensor<12xf32>) {
  ^bb0(%label: index, %out: f32):
    %r = linalg.index 0 : index
    %l = tensor.extract %shifted[%r, %label] : tensor<12x2xf32>
    linalg.yield %l : f32
  } -> tensor<12xf32>
  return %chosen : tensor<12xf32>
}

// -----

#all = affine_map<(r, v) -> (r, v)>
// There is no less to keep of a row than its logits. A sum over all of them stays one, too.
// CHECK-LABEL: @leaves_few_columns
// CHECK-NOT: scf.for
// CHECK: linalg.matmul
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]
func.func @leaves_few_columns(%x: tensor<15x8xf32>, %w: tensor<8x15xf32>, %start: tensor<f32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<15x15xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<15x15xf32>) -> tensor<15x15xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<15x8xf32>, tensor<8x15xf32>) outs(%z : tensor<15x15xf32>) -> tensor<15x15xf32>
  %sum = linalg.generic {indexing_maps = [#all, affine_map<(r, v) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%logits : tensor<15x15xf32>) outs(%start : tensor<f32>) {
  ^bb0(%l: f32, %acc: f32):
    %s = arith.mulf %l, %l : f32
    %n = arith.addf %acc, %s : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

#all = affine_map<(r, v) -> (r, v)>
// A product of a matrix with its transpose has a row for each pair of rows.
// CHECK-LABEL: @leaves_pairs_of_rows
// CHECK-NOT: scf.for
// CHECK: linalg.matmul
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<15x15xf32>)
func.func @leaves_pairs_of_rows(%x: tensor<15x8xf32>, %w: tensor<8x40xf32>, %start: tensor<f32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<15x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<15x40xf32>) -> tensor<15x40xf32>
  %vectors = linalg.matmul ins(%x, %w : tensor<15x8xf32>, tensor<8x40xf32>) outs(%z : tensor<15x40xf32>) -> tensor<15x40xf32>
  %ep = tensor.empty() : tensor<15x15xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<15x15xf32>) -> tensor<15x15xf32>
  %pairs = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%vectors, %vectors : tensor<15x40xf32>, tensor<15x40xf32>) outs(%zp : tensor<15x15xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<15x15xf32>
  %sum = linalg.generic {indexing_maps = [#all, affine_map<(r, v) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%pairs : tensor<15x15xf32>) outs(%start : tensor<f32>) {
  ^bb0(%l: f32, %acc: f32):
    %s = arith.mulf %l, %l : f32
    %n = arith.addf %acc, %s : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
