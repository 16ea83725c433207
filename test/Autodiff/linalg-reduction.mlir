// RUN: remat-opt %s -remat-differentiate -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @equal_maxima_share_evenly_grad(
// CHECK: %[[Y:.*]] = linalg.reduce
// CHECK: %[[COUNT:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0, %[[Y]]
// CHECK: arith.cmpf oeq
// CHECK: %[[SHARE:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[COUNT]]
// CHECK: arith.divf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%arg0, %[[Y]], %[[SHARE]]
// CHECK: arith.cmpf oeq
// CHECK: arith.select
func.func @equal_maxima_share_evenly(%x: tensor<3x4xf32> {opt.param}, %low: tensor<3xf32>, %init: tensor<f32>) -> tensor<f32> {
  %y = linalg.reduce { arith.maximumf } ins(%x : tensor<3x4xf32>) outs(%low : tensor<3xf32>) dimensions = [1]
  %l = linalg.reduce { arith.addf } ins(%y : tensor<3xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// A product is replayed: products from the front, products from the back in reverse,
// no division.
// CHECK: #[[REVERSE:.*]] = affine_map<(d0) -> (-d0 + 3)>
// CHECK: func.func @a_product_is_replayed_without_division_grad(
// CHECK: %[[BEFORE:.*]]:2 = linalg.generic {{.*}} ins(%arg0 : tensor<4xf32>) outs(%{{.*}}, %{{.*}} : tensor<f32>, tensor<4xf32>)
// CHECK: %[[AFTER:.*]]:2 = linalg.generic {indexing_maps = [#[[REVERSE]], {{.*}} ins(%arg0 : tensor<4xf32>)
// CHECK: ins(%[[BEFORE]]#1, %[[AFTER]]#1 :
// CHECK-NOT: arith.divf
// CHECK: return
func.func @a_product_is_replayed_without_division(%x: tensor<4xf32> {opt.param}, %one: tensor<f32>) -> tensor<f32> {
  %l = linalg.reduce { arith.mulf } ins(%x : tensor<4xf32>) outs(%one : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// A sum under a mask is a sum: no replay, and the sum itself is not read.
// CHECK-LABEL: func.func @a_masked_sum_is_a_sum_grad(
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg1, %cst : tensor<4xi1>, tensor<f32>)
// CHECK: arith.select
// CHECK-NOT: linalg.generic
// CHECK: return
#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @a_masked_sum_is_a_sum(%x: tensor<4xf32> {opt.param}, %m: tensor<4xi1>, %init: tensor<f32>) -> tensor<f32> {
  %l = linalg.generic {indexing_maps = [#id, #id, #s], iterator_types = ["reduction"]}
      ins(%x, %m : tensor<4xf32>, tensor<4xi1>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %c: i1, %o: f32):
    %1 = arith.addf %o, %a : f32
    %2 = arith.select %c, %1, %o : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// An argmax says which term was chosen: only its position is read.
// CHECK-LABEL: func.func @an_argmax_reads_the_position_only_grad(
// CHECK: %[[Y:.*]]:2 = linalg.generic
// CHECK: linalg.reduce {{.*}} dimensions
// CHECK-NOT: %arg0
// CHECK-NOT: %[[Y]]#0
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[Y]]#1, %{{.*}} : tensor<3xi64>, tensor<3xf32>)
// CHECK: arith.cmpi eq
// CHECK: arith.select
// CHECK: return
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @an_argmax_reads_the_position_only(%x: tensor<3x4xf32> {opt.param}, %zero: tensor<3xi64>, %init: tensor<f32>) -> tensor<f32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3xf32>
  %start = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %y:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4xf32>) outs(%start, %zero : tensor<3xf32>, tensor<3xi64>) {
  ^bb0(%a: f32, %best: f32, %at: i64):
    %i = linalg.index 1 : index
    %position = arith.index_cast %i : index to i64
    %1 = arith.maximumf %a, %best : f32
    %2 = arith.cmpf ogt, %a, %best : f32
    %3 = arith.select %2, %position, %at : i64
    linalg.yield %1, %3 : f32, i64
  } -> (tensor<3xf32>, tensor<3xi64>)
  %l = linalg.reduce { arith.addf } ins(%y#0 : tensor<3xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// Each value of the body is looked at once: asking again for every use of it
// would take a time that doubles with every line.
// CHECK-LABEL: func.func @a_maximum_of_a_long_chain_grad(
func.func @a_maximum_of_a_long_chain(%x: tensor<8xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %l = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) {
  ^bb0(%m0: f32, %acc: f32):
    %m1 = arith.mulf %m0, %m0 : f32
    %m2 = arith.mulf %m1, %m1 : f32
    %m3 = arith.mulf %m2, %m2 : f32
    %m4 = arith.mulf %m3, %m3 : f32
    %m5 = arith.mulf %m4, %m4 : f32
    %m6 = arith.mulf %m5, %m5 : f32
    %m7 = arith.mulf %m6, %m6 : f32
    %m8 = arith.mulf %m7, %m7 : f32
    %m9 = arith.mulf %m8, %m8 : f32
    %m10 = arith.mulf %m9, %m9 : f32
    %m11 = arith.mulf %m10, %m10 : f32
    %m12 = arith.mulf %m11, %m11 : f32
    %m13 = arith.mulf %m12, %m12 : f32
    %m14 = arith.mulf %m13, %m13 : f32
    %m15 = arith.mulf %m14, %m14 : f32
    %m16 = arith.mulf %m15, %m15 : f32
    %m17 = arith.mulf %m16, %m16 : f32
    %m18 = arith.mulf %m17, %m17 : f32
    %m19 = arith.mulf %m18, %m18 : f32
    %m20 = arith.mulf %m19, %m19 : f32
    %m21 = arith.mulf %m20, %m20 : f32
    %m22 = arith.mulf %m21, %m21 : f32
    %m23 = arith.mulf %m22, %m22 : f32
    %m24 = arith.mulf %m23, %m23 : f32
    %m25 = arith.mulf %m24, %m24 : f32
    %m26 = arith.mulf %m25, %m25 : f32
    %m27 = arith.mulf %m26, %m26 : f32
    %m28 = arith.mulf %m27, %m27 : f32
    %m29 = arith.mulf %m28, %m28 : f32
    %m30 = arith.mulf %m29, %m29 : f32
    %m31 = arith.mulf %m30, %m30 : f32
    %m32 = arith.mulf %m31, %m31 : f32
    %m33 = arith.mulf %m32, %m32 : f32
    %m34 = arith.mulf %m33, %m33 : f32
    %m35 = arith.mulf %m34, %m34 : f32
    %m36 = arith.mulf %m35, %m35 : f32
    %m37 = arith.mulf %m36, %m36 : f32
    %m38 = arith.mulf %m37, %m37 : f32
    %m39 = arith.mulf %m38, %m38 : f32
    %m40 = arith.mulf %m39, %m39 : f32
    %m41 = arith.mulf %m40, %m40 : f32
    %m42 = arith.mulf %m41, %m41 : f32
    %m43 = arith.mulf %m42, %m42 : f32
    %m44 = arith.mulf %m43, %m43 : f32
    %m45 = arith.mulf %m44, %m44 : f32
    %m46 = arith.mulf %m45, %m45 : f32
    %m47 = arith.mulf %m46, %m46 : f32
    %m48 = arith.mulf %m47, %m47 : f32
    %r = arith.maximumf %acc, %m48 : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @a_sum_of_a_long_chain_grad(
func.func @a_sum_of_a_long_chain(%x: tensor<8xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %l = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) {
  ^bb0(%m0: f32, %acc: f32):
    %m1 = arith.addf %m0, %m0 : f32
    %m2 = arith.addf %m1, %m1 : f32
    %m3 = arith.addf %m2, %m2 : f32
    %m4 = arith.addf %m3, %m3 : f32
    %m5 = arith.addf %m4, %m4 : f32
    %m6 = arith.addf %m5, %m5 : f32
    %m7 = arith.addf %m6, %m6 : f32
    %m8 = arith.addf %m7, %m7 : f32
    %m9 = arith.addf %m8, %m8 : f32
    %m10 = arith.addf %m9, %m9 : f32
    %m11 = arith.addf %m10, %m10 : f32
    %m12 = arith.addf %m11, %m11 : f32
    %m13 = arith.addf %m12, %m12 : f32
    %m14 = arith.addf %m13, %m13 : f32
    %m15 = arith.addf %m14, %m14 : f32
    %m16 = arith.addf %m15, %m15 : f32
    %m17 = arith.addf %m16, %m16 : f32
    %m18 = arith.addf %m17, %m17 : f32
    %m19 = arith.addf %m18, %m18 : f32
    %m20 = arith.addf %m19, %m19 : f32
    %m21 = arith.addf %m20, %m20 : f32
    %m22 = arith.addf %m21, %m21 : f32
    %m23 = arith.addf %m22, %m22 : f32
    %m24 = arith.addf %m23, %m23 : f32
    %m25 = arith.addf %m24, %m24 : f32
    %m26 = arith.addf %m25, %m25 : f32
    %m27 = arith.addf %m26, %m26 : f32
    %m28 = arith.addf %m27, %m27 : f32
    %m29 = arith.addf %m28, %m28 : f32
    %m30 = arith.addf %m29, %m29 : f32
    %m31 = arith.addf %m30, %m30 : f32
    %m32 = arith.addf %m31, %m31 : f32
    %m33 = arith.addf %m32, %m32 : f32
    %m34 = arith.addf %m33, %m33 : f32
    %m35 = arith.addf %m34, %m34 : f32
    %m36 = arith.addf %m35, %m35 : f32
    %m37 = arith.addf %m36, %m36 : f32
    %m38 = arith.addf %m37, %m37 : f32
    %m39 = arith.addf %m38, %m38 : f32
    %m40 = arith.addf %m39, %m39 : f32
    %m41 = arith.addf %m40, %m40 : f32
    %m42 = arith.addf %m41, %m41 : f32
    %m43 = arith.addf %m42, %m42 : f32
    %m44 = arith.addf %m43, %m43 : f32
    %m45 = arith.addf %m44, %m44 : f32
    %m46 = arith.addf %m45, %m45 : f32
    %m47 = arith.addf %m46, %m46 : f32
    %m48 = arith.addf %m47, %m47 : f32
    %r = arith.addf %m48, %acc : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
