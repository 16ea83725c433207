// Sums in which many additions follow each other, for a CPU. Bits are in CPU/sums-numeric.test.
// RUN: remat-opt %s --remat-split-reductions=max-chain=4096 --cse --split-input-file > %t
// RUN: FileCheck %s < %t
// Sums that are split already stay as they are.
// RUN: remat-opt %t --split-input-file --remat-split-reductions=max-chain=4096 --cse | diff %t -
// RUN: not remat-opt %s --remat-split-reductions=max-chain=-1 --split-input-file 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: max-chain must be at least 0, got -1

#id = affine_map<(i, j) -> (i, j)>

// 16 partial results of 65536 elements each: 128 chunks, in which one has 512.
// CHECK-LABEL: func.func @along(
// CHECK: tensor.expand_shape %{{.*}} into tensor<128x8x1024xf32>
// CHECK: iterator_types = ["parallel", "reduction", "reduction"]} {{.*}} outs(%{{.*}} : tensor<128xf32>) attrs = {remat.order = "along"}
// CHECK: iterator_types = ["reduction"]} ins(%{{.*}} : tensor<128xf32>) outs(%{{.*}} : tensor<f32>) attrs = {remat.order = "along"}
func.func @along(%x: tensor<1024x1024xf32>, %init: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<1024x1024xf32>) outs(%init : tensor<f32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// About as many chunks as rows in each where these are very many, so that few are left over. Those come first.
// CHECK-LABEL: func.func @across(
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [1048581, 8] [1, 1]
// CHECK: tensor.expand_shape %{{.*}} into tensor<789x1329x8xf32>
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK: tensor.extract_slice %{{.*}}[1048581, 0] [2, 8] [1, 1]
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<789x8xf32>)
func.func @across(%x: tensor<1048583x8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1048583x8xf32>) outs(%init : tensor<8xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A row of three has three partial results, not 16.
// CHECK-LABEL: func.func @short_rows(
// CHECK: iterator_types = ["parallel", "reduction", "reduction"]
func.func @short_rows(%x: tensor<8192x3xf32>, %init: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<8192x3xf32>) outs(%init : tensor<f32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A row of a softmax, a column of as many, a size that is not known, a product.
// CHECK-LABEL: func.func @must_not_split(
// CHECK-NOT: tensor.expand_shape
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @must_not_split(%x: tensor<8x65536xf32>, %y: tensor<4096x8xf32>, %z: tensor<?x8xf32>, %a: tensor<2x100000xf32>, %b: tensor<100000x2xf32>,
    %of_rows: tensor<8xf32>, %of_columns: tensor<8xf32>, %of_product: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>) {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x65536xf32>) outs(%of_rows : tensor<8xf32>) attrs = {remat.order = "along"} {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<4096x8xf32>) outs(%of_columns : tensor<8xf32>) attrs = {remat.order = "across"} {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%z : tensor<?x8xf32>) outs(%of_columns : tensor<8xf32>) attrs = {remat.order = "across"} {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %3 = linalg.matmul ins(%a, %b : tensor<2x100000xf32>, tensor<100000x2xf32>) outs(%of_product : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>
}
