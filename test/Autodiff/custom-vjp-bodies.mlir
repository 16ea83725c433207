// RUN: remat-opt %s -remat-bind-custom-vjp | FileCheck %s

// Operations of one kind whose bodies differ in what they do with which operand:
// each has a function of its own.

// CHECK-LABEL: func.func @differences
// CHECK: %[[R:.*]] = call @[[F:linalg_map[_0-9]*]](
// CHECK: call @[[G:linalg_map[_0-9]*]](%[[R]]
// CHECK: call @[[F]](
// CHECK: func.func private @[[F]](
// CHECK: func.func private @[[G]](

func.func @differences(%x: tensor<4xf32> {opt.param}, %y: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.map ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) (%a: f32, %b: f32, %o: f32) {
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  }
  %1 = linalg.map ins(%0, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) (%a: f32, %b: f32, %o: f32) {
    %s = arith.subf %b, %a : f32
    linalg.yield %s : f32
  }
  %2 = linalg.map ins(%1, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) (%a: f32, %b: f32, %o: f32) {
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  }
  return %2 : tensor<4xf32>
}
remat.custom_vjp @rule for "linalg.map"
func.func private @rule(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xf32>, %r: tensor<4xf32>, %dr: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  return %dr, %dr, %dr : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
