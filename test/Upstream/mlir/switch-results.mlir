// One-shot bufferization does not see that a result of an scf.index_switch is the buffer that a case yields, and writes over it
// before that is read: lib/Workarounds/ReplaceSwitch.cpp.
// RUN: mlir-opt %s "-one-shot-bufferize=bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

// CHECK-LABEL: @written_over
// CHECK-SAME: %{{.*}}: index, %[[A:.*]]: memref<4xf32>, %[[B:[^:]*]]: memref<4xf32>
// CHECK-NOT: memref.copy
// CHECK: %[[CHOSEN:.*]] = scf.index_switch
// CHECK: scf.yield %[[A]]
// CHECK-NOT: memref.copy
// CHECK: memref.store %{{.*}}, %[[CHOSEN]]
// CHECK: memref.load %[[A]]
func.func @written_over(%which: index, %a: tensor<4xf32>, %b: tensor<4xf32>, %zero: f32) -> (f32, f32) {
  %first = arith.constant 0 : index
  %chosen = scf.index_switch %which -> tensor<4xf32>
  case 0 {
    scf.yield %a : tensor<4xf32>
  }
  default {
    scf.yield %b : tensor<4xf32>
  }
  %changed = tensor.insert %zero into %chosen[%first] : tensor<4xf32>
  %new = tensor.extract %changed[%first] : tensor<4xf32>
  %old = tensor.extract %a[%first] : tensor<4xf32>
  return %new, %old : f32, f32
}
