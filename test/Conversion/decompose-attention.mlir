// RUN: remat-opt %s --convert-linalg-aggregates-to-structured | FileCheck %s
// RUN: remat-opt %s --convert-linalg-aggregates-to-structured="keep=remat.attention" | FileCheck %s --check-prefix=KEEP

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>

// Probabilities are rounded as the values are, so that both products are of bf16 with sums in f32.
// CHECK-LABEL: func.func @narrow(
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x4xbf16>, tensor<7x4xbf16>) outs(%{{.*}} : tensor<5x7xf32>)
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x7xbf16>, tensor<7x6xbf16>) outs(%{{.*}} : tensor<5x6xf32>)
// CHECK: math.log
// CHECK-NOT: remat.attention
// KEEP-LABEL: func.func @narrow(
// KEEP: remat.attention
func.func @narrow(%q: tensor<5x4xbf16>, %k: tensor<7x4xbf16>, %v: tensor<7x6xbf16>) -> tensor<5x6xf32> {
  %o = tensor.empty() : tensor<5x6xf32>
  %l = tensor.empty() : tensor<5xf32>
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xbf16>, tensor<7x4xbf16>, tensor<7x6xbf16>)
      outs(%o, %l : tensor<5x6xf32>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<5x6xf32>, tensor<5xf32>
  return %y#0 : tensor<5x6xf32>
}

// A result that is rounded is so after its sums.
// CHECK-LABEL: func.func @rounded(
// CHECK: outs(%{{.*}} : tensor<5x6xf32>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: return %{{.*}} : tensor<5x6xbf16>
func.func @rounded(%q: tensor<5x4xbf16>, %k: tensor<7x4xbf16>, %v: tensor<7x6xbf16>) -> tensor<5x6xbf16> {
  %o = tensor.empty() : tensor<5x6xbf16>
  %l = tensor.empty() : tensor<5xf32>
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xbf16>, tensor<7x4xbf16>, tensor<7x6xbf16>)
      outs(%o, %l : tensor<5x6xbf16>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<5x6xbf16>, tensor<5xf32>
  return %y#0 : tensor<5x6xbf16>
}
