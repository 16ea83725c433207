// RUN: remat-opt %s -opt-lower-steps -canonicalize -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -canonicalize | FileCheck %s

// Rules that reduce over the gradient take memory for their sums only, and copy nothing.

opt.optimizer @lamb = #opt.lamb<lr = 0.1>
opt.optimizer @adafactor = #opt.adafactor<>

// CHECK-LABEL: func.func @of_lamb(
// CHECK-NOT: memref.copy
// CHECK: memref.alloc() {{.*}}: memref<f64>
// CHECK-NOT: memref.copy
// CHECK: memref.alloc() {{.*}}: memref<f64>
// CHECK-NOT: memref.copy
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @of_lamb(
    %w: tensor<4x8xf32> {bufferization.writable = true}, %g: tensor<4x8xf32> {bufferization.writable = false},
    %m: tensor<4x8xf32> {bufferization.writable = true}, %v: tensor<4x8xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %w1, %m1, %v1 = opt.eager_step @lamb(%w, %g, %m, %v) step %t : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  return %w1, %m1, %v1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @of_adafactor(
// CHECK-NOT: memref.copy
// CHECK: memref.alloc() {{.*}}: memref<4xf64>
// CHECK-NOT: memref.copy
// CHECK: memref.alloc() {{.*}}: memref<8xf64>
// CHECK-NOT: memref.alloc() {{.*}}: memref<4x8x
// CHECK-NOT: memref.copy
// CHECK: return
func.func @of_adafactor(
    %w: tensor<4x8xf32> {bufferization.writable = true}, %g: tensor<4x8xf32> {bufferization.writable = false},
    %r: tensor<4xf32> {bufferization.writable = true}, %c: tensor<8xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) {
  %w1, %r1, %c1 = opt.eager_step @adafactor(%w, %g, %r, %c) step %t : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>
  return %w1, %r1, %c1 : tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>
}
