// RUN: remat-opt %s --decompose-attention-for-gpu --split-input-file --verify-diagnostics | FileCheck %s

#q = affine_map<(b, m, n, d, v) -> (b, m, d)>
#k = affine_map<(b, m, n, d, v) -> (b, n, d)>
#v = affine_map<(b, m, n, d, v) -> (b, n, v)>
#shared = affine_map<(b, m, n, d, v) -> (n, v)>
#o = affine_map<(b, m, n, d, v) -> (b, m, v)>
#l = affine_map<(b, m, n, d, v) -> (b, m)>

// CHECK-LABEL: func.func @keep_what_has_a_kernel(
// CHECK: remat.attention
func.func @keep_what_has_a_kernel(%q: tensor<2x9x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x4xf32>, %o: tensor<2x9x4xf32>,
                                  %l: tensor<2x9xf32>) -> tensor<2x9x4xf32> {
  %y, %s = remat.attention ins(%q, %k, %v : tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>)
      outs(%o, %l : tensor<2x9x4xf32>, tensor<2x9xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%b: index, %m: index, %n: index, %x: f32):
    remat.yield %x : f32
  } -> tensor<2x9x4xf32>, tensor<2x9xf32>
  return %y : tensor<2x9x4xf32>
}

// CHECK-LABEL: func.func @expand_values_of_another_batch(
// CHECK-NOT: remat.attention
// CHECK: remat.order
func.func @expand_values_of_another_batch(%q: tensor<2x9x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<9x4xf32>, %o: tensor<2x9x4xf32>,
                                          %l: tensor<2x9xf32>) -> tensor<2x9x4xf32> {
  // expected-remark@+1 {{products and a softmax, with a number for each pair of positions in memory: keys and values have different batches}}
  %y, %s = remat.attention ins(%q, %k, %v : tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<9x4xf32>)
      outs(%o, %l : tensor<2x9x4xf32>, tensor<2x9xf32>) attributes {indexing_maps = [#q, #k, #shared, #o, #l]} {
  ^bb0(%b: index, %m: index, %n: index, %x: f32):
    remat.yield %x : f32
  } -> tensor<2x9x4xf32>, tensor<2x9xf32>
  return %y : tensor<2x9x4xf32>
}
