// RUN: not remat-opt %s --remat-train="budget=211B" -o /dev/null 2>&1 | FileCheck %s
// RUN: remat-opt %s --remat-train="budget=212B" -o /dev/null
// RUN: remat-opt %s --remat-train="budget=1B budget-of=arena" -o /dev/null

// A step that has no arena takes what its parameters and states do.
// CHECK: fit-budget-states.mlir:[[#@LINE+2]]:1: error: 'step' does not fit a budget of 211 bytes: parameters, states, data and results alone take 212, of which nothing can be recomputed
opt.optimizer @o = #opt.adamw<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @loss(%x: tensor<1x4xf32> {remat.data = "x"}, %w: tensor<4x4xf32> {opt.param = "w", opt.init = "ones"}) -> tensor<f32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%c, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
