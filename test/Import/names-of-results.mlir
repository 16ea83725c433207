// Outputs have the description's names where they have any, as the dictionary of a step's further results has them.
// RUN: remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"arguments":[{"name":"w","role":"parameter"},{"name":"x","role":"data"}],"results":[{"name":"squares","role":"output"},{"name":"mean","role":"loss"},{"name":"","role":"output"}]}}})' | FileCheck %s
// RUN: not remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"results":[{"name":"y","role":"output"},{"name":"loss","role":"loss"},{"name":"y","role":"output"}]}}})' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not remat-opt %s --pass-pipeline='builtin.module(remat-import{spec={{"results":[{"name":"loss","role":"output"},{"name":"mean","role":"loss"},{"name":"y","role":"output"}]}}})' 2>&1 | FileCheck %s --check-prefix=LOSS

// TWICE: spec:1:1: error: two outputs are called 'y'
// LOSS: spec:1:1: error: an output is called 'loss', as the result with the role loss is

// CHECK: -> (tensor<4xf32> {remat.metric = "squares"}, tensor<f32> {remat.loss}, tensor<4xf32>)
func.func @loss(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %squares = arith.mulf %w, %w : tensor<4xf32>
  %l = linalg.dot ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %squares, %l, %w : tensor<4xf32>, tensor<f32>, tensor<4xf32>
}
