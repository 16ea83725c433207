// RUN: remat-opt %s -remat-import="report=-" -o /dev/null 2>&1 | FileCheck %s

// A mark decides, whatever comes first.
// CHECK: import of @marked_loss
// CHECK-NEXT: parameter w tensor<4xf32> argument 0 marked in the file
// CHECK-NEXT: output tensor<f32> result 0
// CHECK-NEXT: loss loss tensor<f32> result 1 marked in the file
func.func private @f(tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
func.func @marked_loss(%w: tensor<4xf32> {opt.param = "w"}) -> (tensor<f32>, tensor<f32> {remat.loss}) {
  %l:2 = call @f(%w) : (tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
  return %l#0, %l#1 : tensor<f32>, tensor<f32>
}
