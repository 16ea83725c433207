// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s -cse -canonicalize | FileCheck %s --check-prefix=ONCE
// RUN: remat-opt %s -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s --check-prefix=BUFFERS

#q = affine_map<(h, m, n, d, v) -> (m, h, d)>
#k = affine_map<(h, m, n, d, v) -> (n, d)>
#v = affine_map<(h, m, n, d, v) -> (n, v)>
#b = affine_map<(h, m, n, d, v) -> (h, 0, n)>
#o = affine_map<(h, m, n, d, v) -> (m, h, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// Heads that share keys, and a bias that is the same for all rows.
// CHECK-LABEL: func.func @grouped(
// CHECK: remat.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
// CHECK-SAME: scores(%{{.*}} : tensor<3x1x7xf32>) outs(%{{.*}}, %{{.*}} : tensor<5x3x6xf32>, tensor<3x5xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[S:.*]]: f32, %[[B:.*]]: f32):
// CHECK: remat.yield %{{.*}}, %[[B]] : f32, f32
// Two equal ones are merged, and one without users is erased.
// ONCE-LABEL: func.func @grouped(
// ONCE: %[[A:.*]]:2 = remat.attention
// ONCE-NOT: remat.attention
// ONCE: return %[[A]]#0, %[[A]]#0
// Into the destinations.
// BUFFERS-LABEL: func.func @grouped(
// BUFFERS: remat.attention
// BUFFERS-SAME: outs(%[[O:.*]], %{{.*}} : memref<5x3x6xf32>, memref<3x5xf32>)
// BUFFERS-NOT: memref.copy
func.func @grouped(%q: tensor<5x3x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %bias: tensor<3x1x7xf32>)
    -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>) {
  %o = tensor.empty() : tensor<5x3x6xf32>
  %l = tensor.empty() : tensor<3x5xf32>
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      scores(%bias : tensor<3x1x7xf32>) outs(%o, %l : tensor<5x3x6xf32>, tensor<3x5xf32>)
      attributes {indexing_maps = [#q, #k, #v, #b, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %score: f32, %b: f32):
    %t = arith.addf %score, %b : f32
    remat.yield %t, %b : f32, f32
  } -> tensor<5x3x6xf32>, tensor<3x5xf32>
  %z:2 = remat.attention ins(%q, %k, %v : tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      scores(%bias : tensor<3x1x7xf32>) outs(%o, %l : tensor<5x3x6xf32>, tensor<3x5xf32>)
      attributes {indexing_maps = [#q, #k, #v, #b, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %score: f32, %b: f32):
    %t = arith.addf %score, %b : f32
    remat.yield %t, %b : f32, f32
  } -> tensor<5x3x6xf32>, tensor<3x5xf32>
  %unused:2 = remat.attention ins(%q, %k, %v : tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      outs(%o, %l : tensor<5x3x6xf32>, tensor<3x5xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %score: f32):
    remat.yield %score : f32
  } -> tensor<5x3x6xf32>, tensor<3x5xf32>
  return %y#0, %z#0 : tensor<5x3x6xf32>, tensor<5x3x6xf32>
}

// The backward adds to what it is given: here the gradients so far.
// CHECK-LABEL: func.func @backward(
// CHECK: remat.attention_backward ins({{.*}}) scores(%{{.*}} : tensor<3x1x7xf32>)
// CHECK-SAME: cotangent(%{{.*}}, %{{.*}}, %{{.*}} : tensor<5x3x6xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
// CHECK: } -> tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>, tensor<3x1x7xf32>
// BUFFERS-LABEL: func.func @backward(
// BUFFERS-SAME: %[[DK:[a-z0-9]+]]: memref<7x4xf32>, %{{[a-z0-9]+}}: memref<7x6xf32>, %{{[a-z0-9]+}}: memref<3x1x7xf32>) -> memref<7x4xf32>
// BUFFERS: outs(%{{.*}}, %[[DK]], %{{.*}}, %{{.*}} :
func.func @backward(%q: tensor<5x3x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %bias: tensor<3x1x7xf32>,
                    %dy: tensor<5x3x6xf32>, %sum: tensor<3x5xf32>, %delta: tensor<3x5xf32>, %dq: tensor<5x3x4xf32>,
                    %dk: tensor<7x4xf32> {bufferization.writable = true}, %dv: tensor<7x6xf32>, %db: tensor<3x1x7xf32>) -> tensor<7x4xf32> {
  %g:4 = remat.attention_backward ins(%q, %k, %v : tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      scores(%bias : tensor<3x1x7xf32>) cotangent(%dy, %sum, %delta : tensor<5x3x6xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
      outs(%dq, %dk, %dv, %db : tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>, tensor<3x1x7xf32>)
      attributes {indexing_maps = [#q, #k, #v, #b, #o, #l], differentiated = array<i64: 0>} {
  ^bb0(%h: index, %m: index, %n: index, %score: f32, %b: f32, %s: f32, %e: f32, %p: f32):
    remat.yield %score, %p, %b : f32, f32, f32
  } -> tensor<5x3x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>, tensor<3x1x7xf32>
  return %g#1 : tensor<7x4xf32>
}
