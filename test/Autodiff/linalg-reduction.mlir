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
