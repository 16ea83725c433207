// RUN: remat-opt %s -remat-hoist-asserts | FileCheck %s

// CHECK-DAG: #[[TOKENS:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[NONE:.*]] = affine_map<(d0) -> ()>
// CHECK-DAG: #[[PAIRS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(t, d) -> (t)>
#all = affine_map<(t, d) -> (t, d)>

// CHECK-LABEL: func.func @over_the_dimensions_that_it_depends_on
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x4xf32>, %[[T:[a-z0-9]+]]: tensor<3xi64>
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[START:.*]] = linalg.fill ins(%[[TRUE]]
// CHECK: %[[CHECK:.*]] = linalg.generic {indexing_maps = [#[[TOKENS]], #[[NONE]]], iterator_types = ["reduction"]} ins(%[[T]] : tensor<3xi64>) outs(%[[START]] : tensor<i1>)
// CHECK: %[[OK:.*]] = arith.cmpi sge
// CHECK: %[[AND:.*]] = arith.andi %{{.*}}, %[[OK]]
// CHECK: linalg.yield %[[AND]]
// CHECK: %[[ALL:.*]] = tensor.extract %[[CHECK]][]
// CHECK: cf.assert %[[ALL]], "negative"
// CHECK: linalg.generic
// CHECK-NOT: cf.assert
func.func @over_the_dimensions_that_it_depends_on(%x: tensor<3x4xf32>, %tokens: tensor<3xi64>) -> tensor<3x4xf32> {
  %c0 = arith.constant 0 : i64
  %0 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<3xi64>) outs(%x : tensor<3x4xf32>) {
  ^bb0(%token: i64, %out: f32):
    %ok = arith.cmpi sge, %token, %c0 : i64
    cf.assert %ok, "negative"
    %f = arith.sitofp %token : i64 to f32
    linalg.yield %f : f32
  } -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// A dimension that no operand of the condition has: all of them, with their operands.
// CHECK-LABEL: func.func @over_all_dimensions_if_one_has_no_size
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[PAIRS]], #{{.*}}], iterator_types = ["reduction", "reduction"]}
// CHECK: linalg.index 1
// CHECK: cf.assert
func.func @over_all_dimensions_if_one_has_no_size(%x: tensor<3x4xf32>, %tokens: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<3xi64>) outs(%x : tensor<3x4xf32>) {
  ^bb0(%token: i64, %out: f32):
    %d = linalg.index 1 : index
    %i = arith.index_cast %token : i64 to index
    %ok = arith.cmpi sge, %i, %d : index
    cf.assert %ok, "too small"
    %f = arith.sitofp %token : i64 to f32
    linalg.yield %f : f32
  } -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @the_second_of_three_dimensions_becomes_the_first
// CHECK: linalg.generic {indexing_maps = [#[[TOKENS]], #[[NONE]]]
// CHECK: linalg.index 0
// CHECK: cf.assert
func.func @the_second_of_three_dimensions_becomes_the_first(%x: tensor<2x3x4xf32>, %tokens: tensor<3xi64>) -> tensor<2x3x4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (b)>, affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%tokens : tensor<3xi64>) outs(%x : tensor<2x3x4xf32>) {
  ^bb0(%token: i64, %out: f32):
    %d = linalg.index 1 : index
    %i = arith.index_cast %token : i64 to index
    %ok = arith.cmpi sge, %i, %d : index
    cf.assert %ok, "too small"
    linalg.yield %out : f32
  } -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
