// RUN: remat-opt %s -remat-prepare-bufferization -split-input-file | FileCheck %s

// What nothing calls takes writable tensors where it says so, and returns buffers. `writable = true` is upstream's default, and goes.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %{{.*}}: tensor<4xf32> {opt.param = "w"}, %{{.*}}: tensor<4xf32> {bufferization.writable = false}, %{{.*}}: index)
// CHECK-SAME: -> (memref<4xf32> {remat.updates = 0 : i64}, index, memref<?x2xbf16>) {
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK: %[[B:.*]] = bufferization.to_buffer %[[SUM]] read_only : tensor<4xf32> to memref<4xf32>
// CHECK: %[[D:.*]] = bufferization.to_buffer %{{.*}} read_only : tensor<?x2xbf16> to memref<?x2xbf16>
// CHECK: return %[[B]], %{{.*}}, %[[D]] : memref<4xf32>, index, memref<?x2xbf16>
func.func @step(%w: tensor<4xf32> {opt.param = "w", bufferization.writable = true}, %g: tensor<4xf32>, %n: index)
    -> (tensor<4xf32> {remat.updates = 0 : i64}, index, tensor<?x2xbf16>) {
  %sum = linalg.add ins(%w, %g : tensor<4xf32>, tensor<4xf32>) outs(%w : tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty(%n) : tensor<?x2xbf16>
  return %sum, %n, %e : tensor<4xf32>, index, tensor<?x2xbf16>
}

// -----

// The arguments and results of what is called are bufferization's business: it looks at the callers.
// CHECK-LABEL: func.func private @called(
// CHECK-SAME: %{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: return %{{.*}} : tensor<4xf32>
func.func private @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: -> memref<4xf32>
func.func @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @called(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
