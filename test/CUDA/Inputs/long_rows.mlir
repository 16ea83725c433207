// Sums of long rows: the warps of a block have parts of one.

#mat = affine_map<(r, d) -> (r, d)>
#row = affine_map<(r, d) -> (r)>
#col = affine_map<(r, d) -> (d)>

opt.optimizer @sgd = #opt.sgd<lr = 1.0e-3>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 1}

func.func @loss(%rows: tensor<3x2000xf32> {remat.data = "rows"}, %w: tensor<2000xf32> {opt.param = "w", opt.init = "normal(0.1)"})
    -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<3xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3xf32>) -> tensor<3xf32>
  %sums = linalg.generic {indexing_maps = [#mat, #col, #row], iterator_types = ["parallel", "reduction"]}
      ins(%rows, %w : tensor<3x2000xf32>, tensor<2000xf32>) outs(%z3 : tensor<3xf32>) {
  ^bb0(%x: f32, %weight: f32, %acc: f32):
    %p = arith.mulf %x, %weight : f32
    %t = math.tanh %p : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%sums : tensor<3xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %p = arith.mulf %x, %x : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
