// RUN: remat-opt %s -remat-differentiate | FileCheck %s
// RUN: remat-opt %s -remat-differentiate -remat-differentiate | FileCheck %s
// RUN: remat-opt %s -remat-differentiate="function=data_alone wrt=0" | FileCheck %s --check-prefix=WRT

// CHECK-LABEL: func.func @names_are_transparent(
// CHECK-LABEL: func.func @names_are_transparent_grad(
// CHECK-SAME: %{{.*}}: f32 {opt.param}, %{{.*}}: f32) -> (f32 {remat.loss}, f32 {remat.gradient_of = 0 : i64}) {
func.func @names_are_transparent(%w: f32 {opt.param}, %x: f32) -> (f32 {remat.loss}) {
  // CHECK: %[[N:.*]] = remat.name "n"
  // CHECK-NEXT: remat.begin_backward
  %n = remat.name "n" %w : f32
  // CHECK: %[[ONE:.*]] = arith.constant {remat.phase = "backward"} 1.0
  // CHECK: return %[[N]], %[[ONE]]
  return %n : f32
}
// CHECK-NOT: _grad_grad

// CHECK-NOT: @data_alone_grad
// WRT-LABEL: func.func @data_alone_grad(
// WRT-SAME: -> (tensor<f64>, tensor<f64> {remat.gradient_of = 0 : i64})
func.func @data_alone(%x: tensor<f64>) -> tensor<f64> {
  return %x : tensor<f64>
}
