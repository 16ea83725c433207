// RUN: remat-opt %s --remat-differentiate --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#s = affine_map<(m, n, d, v) -> ()>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>

// Probabilities are recomputed from the scores and the sum of each row; those of masked scores are 0. The slope is an operand
// that is differentiated.
// CHECK-LABEL: func.func @loss_grad(
// CHECK: %[[Y:.*]]:2 = remat.attention
// CHECK: remat.attention_backward ins(%arg0, %arg1, %arg2 :
// CHECK-SAME: scores(%arg3 : tensor<f32>)
// CHECK-SAME: cotangent(%{{.*}}, %[[Y]]#1, %{{.*}} :
// CHECK-SAME: differentiated = array<i64: 0>
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[S:.*]]: f32, %[[A:.*]]: f32, %[[SUM:.*]]: f32, %[[DELTA:.*]]: f32, %[[G:.*]]: f32):
// CHECK: %[[T:.*]] = arith.mulf %[[S]], %[[A]] : f32
// CHECK: %[[MASKED:.*]] = arith.cmpf oeq, %[[T]], %{{.*}} : f32
// Of a row that is masked by finite numbers, the number says the logarithm of how many there are.
// CHECK: %[[BEYOND:.*]] = arith.cmpf oge, %[[SUM]], %{{.*}} : f32
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %[[SUM]] : f32
// CHECK: %[[CODED:.*]] = arith.mulf %[[D]], %{{.*}} : f32
// CHECK: %[[PLAIN:.*]] = arith.subf %[[T]], %[[SUM]] : f32
// CHECK: %[[X:.*]] = arith.select %[[BEYOND]], %[[CODED]], %[[PLAIN]] : f32
// CHECK: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: %[[P:.*]] = arith.select %[[MASKED]], %{{.*}}, %[[E]] : f32
// CHECK: %[[C:.*]] = arith.subf %[[G]], %[[DELTA]] : f32
// CHECK: %[[DT:.*]] = arith.mulf %[[P]], %[[C]] : f32
// CHECK: remat.yield %{{.*}}, %[[P]], %{{.*}} : f32, f32, f32
func.func @loss(%q: tensor<5x4xf32> {opt.param}, %k: tensor<7x4xf32> {opt.param}, %v: tensor<7x6xf32> {opt.param},
                %slope: tensor<f32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<5x6xf32>
  %l = tensor.empty() : tensor<5xf32>
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      scores(%slope : tensor<f32>) outs(%o, %l : tensor<5x6xf32>, tensor<5xf32>)
      attributes {indexing_maps = [#q, #k, #v, #s, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32, %a: f32):
    %t = arith.mulf %s, %a : f32
    remat.yield %t : f32
  } -> tensor<5x6xf32>, tensor<5xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y#0 : tensor<5x6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.mulf %a, %a : f32
    %r = arith.addf %b, %x : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
