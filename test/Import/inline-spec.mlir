// The description may stand in the options: a program that has it need not write a file.
// RUN: remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"function":"loss","arguments":[{"name":"a\u0020b\u007b","role":"parameter"},{"name":"x","role":"data"}],"results":[{"name":"loss","role":"loss"}]}}})' | FileCheck %s
// RUN: not remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"arguments":3}}})' 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"arguments":[}}})' 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"function":"other"}}})' 2>&1 | FileCheck %s --check-prefix=OTHER

// WRONG: spec:1:1: error: expected array at description.arguments
// BROKEN: spec:1:{{[0-9]+}}: error: no JSON: {{.*}}
// OTHER: error: there is no func.func @other

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<4xf32> {opt.param = "a b{"}, %{{[^ ]*}}: tensor<4xf32> {remat.data = "x"})
// CHECK-SAME: -> (tensor<f32> {remat.loss})
func.func @loss(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
