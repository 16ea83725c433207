// RUN: remat-opt %s -remat-prepare-bufferization -split-input-file | FileCheck %s

// A function without callers takes writable tensors where it says so, and returns buffers. `writable = true` is upstream's default, and goes.
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

// Bufferization handles the arguments and results of called functions: it looks at the callers.
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

// -----

// Results that are an argument, or a view of one: callers take the operand. Upstream does not see that writing into one of them
// changes the other.
// CHECK-LABEL: func.func private @hands_on(
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: %[[Y:.*]] = linalg.exp ins(%[[X]]
// CHECK-NEXT: return %[[Y]] : tensor<4xf32>
func.func private @hands_on(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %v = tensor.expand_shape %x [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%z : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %x, %v, %y, %x : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>
}
// Once the one below no longer takes its own argument from there, it need not return it either.
// CHECK-LABEL: func.func private @hands_on_what_it_gets(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %[[Y:.*]] = call @hands_on(%[[X]], %[[X]])
// CHECK-NEXT: return %[[Y]] : tensor<4xf32>
func.func private @hands_on_what_it_gets(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %1:4 = call @hands_on(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>)
  return %1#3, %1#2 : tensor<4xf32>, tensor<4xf32>
}
// A public one keeps its results; nothing in the program takes this one.
// CHECK-LABEL: func.func @public(
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32>)
func.func @public(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @takes_operands(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {{.*}}, %[[Z:.*]]: tensor<4xf32> {{.*}})
// CHECK: call @hands_on(%[[X]], %[[Z]]) {remat.phase = "backward"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[V:.*]] = tensor.expand_shape %[[X]]
// CHECK: call @public(%[[X]])
// CHECK: linalg.add ins(%[[X]], %[[X]]
// CHECK-DAG: bufferization.to_buffer %[[V]]
func.func @takes_operands(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>) {
  %1:4 = call @hands_on(%x, %z) {remat.phase = "backward"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>)
  %2:2 = call @public(%1#0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %3:2 = call @hands_on_what_it_gets(%z) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %e = tensor.empty() : tensor<4xf32>
  %4 = linalg.add ins(%2#1, %1#3 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1#0, %1#1, %4 : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
}
