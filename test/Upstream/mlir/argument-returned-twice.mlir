// One-shot bufferization does not know that two results of a call are one buffer, and writes into the one before the other is read:
// lib/Transforms/PackMemory/ForwardResults.cpp.
// RUN: mlir-opt %s "-one-shot-bufferize=bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

func.func private @both(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %a, %a : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @written_over
// CHECK: %[[BOTH:.*]]:2 = call @both
// CHECK-NEXT: memref.store %{{.*}}, %[[BOTH]]#0
// CHECK-NEXT: memref.load %[[BOTH]]#0
// CHECK-NEXT: memref.load %[[BOTH]]#1
func.func @written_over(%a: tensor<4xf32>, %zero: f32) -> (f32, f32) {
  %first = arith.constant 0 : index
  %x, %y = call @both(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %changed = tensor.insert %zero into %x[%first] : tensor<4xf32>
  %new = tensor.extract %changed[%first] : tensor<4xf32>
  %old = tensor.extract %y[%first] : tensor<4xf32>
  return %new, %old : f32, f32
}
