// RUN: remat-opt %s --remat-annotate="ops=elementwise" 2>/dev/null | FileCheck %s

// The third region reads the result of the first one through a view, the second one reads it directly. Views outside of a region and inside
// count as one, so the view stays where it is, and the third region comes after the sum that it reads.
// CHECK-LABEL: func.func @region_behind_a_region(
// CHECK: %[[A:.*]] = remat.region
// CHECK: %[[VIEW:.*]] = tensor.collapse_shape %[[A]]
// CHECK: %[[B:.*]] = remat.region {{.*}} = %[[A]] :
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction", "parallel"]} ins(%[[B]] :
// CHECK: remat.region {{.*}} = %[[SUM]] : {{.*}} = %[[VIEW]] :
#row = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#first = affine_map<(d0, d1) -> (0, d1)>
#id = affine_map<(d0) -> (d0)>
func.func @region_behind_a_region(%w: tensor<3x4xf32> {opt.param = "w"}) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<1x4xf32>
  %e3 = tensor.empty() : tensor<3x4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %slice = tensor.extract_slice %w[0, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<1x4xf32>
  %abs = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%slice : tensor<1x4xf32>) outs(%e1 : tensor<1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.absf %in : f32
    linalg.yield %0 : f32
  } -> tensor<1x4xf32>
  %collapsed = tensor.collapse_shape %abs [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
  %difference = linalg.generic {indexing_maps = [#row, #first, #row], iterator_types = ["parallel", "parallel"]} ins(%w, %abs : tensor<3x4xf32>, tensor<1x4xf32>) outs(%e3 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %a: f32, %out: f32):
    %0 = arith.subf %in, %a : f32
    linalg.yield %0 : f32
  } -> tensor<3x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#row, #column], iterator_types = ["reduction", "parallel"]} ins(%difference : tensor<3x4xf32>) outs(%fill : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %log = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%sum, %collapsed : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %a: f32, %out: f32):
    %0 = arith.addf %in, %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %log : tensor<4xf32>
}
