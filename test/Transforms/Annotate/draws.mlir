// RUN: remat-opt %s -remat-annotate=blocks | FileCheck %s

// The states are advanced outside; each region draws its layer's mask from the
// state that it takes, so that no region has a mask among its operands.

// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[R0:[a-z0-9]+]]: !remat.rng
// CHECK: %{{.*}}, %[[R1:.*]] = remat.random_bernoulli %[[R0]]
// CHECK: %[[H:.*]] = remat.region (%{{.*}} = %{{.*}} : tensor<8x8xf32>, %{{.*}} = %{{.*}} : tensor<8x8xf32>, %[[S:.*]] = %[[R0]] : !remat.rng) -> tensor<8x8xf32>
// CHECK: remat.random_bernoulli %[[S]]
// CHECK: remat.yield
// CHECK: %{{.*}}, %[[R2:.*]] = remat.random_bernoulli %[[R1]]
// CHECK: remat.region (%{{.*}} = %[[H]] : tensor<8x8xf32>, %{{.*}} = %{{.*}} : tensor<8x8xf32>, %{{.*}} = %[[R1]] : !remat.rng) -> tensor<8x8xf32>
// CHECK: remat.random_bernoulli
// CHECK: return %{{.*}}, %[[R2]]
func.func @dropout(%x: tensor<8x8xf32>, %w0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param}, %rng: !remat.rng)
    -> (tensor<8x8xf32>, !remat.rng) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m0, %rng0 = remat.random_bernoulli %rng {p = 0.5 : f64} : tensor<8x8xi1>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h0 = arith.select %m0, %p0, %zeros : tensor<8x8xi1>, tensor<8x8xf32>
  %m1, %rng1 = remat.random_bernoulli %rng0 {p = 0.5 : f64} : tensor<8x8xi1>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h1 = arith.select %m1, %p1, %zeros : tensor<8x8xi1>, tensor<8x8xf32>
  return %h1, %rng1 : tensor<8x8xf32>, !remat.rng
}
