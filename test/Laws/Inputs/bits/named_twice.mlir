// A row of sums that is computed twice, once with a name in between: a user of both reads one value twice.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#none = affine_map<(i, j) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func private @scale(%x: tensor<7x32xf32>, %w: tensor<32x32xf32>) -> tensor<7x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%w : tensor<32x32xf32>) outs(%f : tensor<32xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %acc, %p : f32
    linalg.yield %q : f32
  } -> tensor<32xf32>
  %g = tensor.empty() : tensor<7x32xf32>
  %r = linalg.generic {indexing_maps = [#full, #column, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<7x32xf32>, tensor<32xf32>) outs(%g : tensor<7x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = math.tanh %b : f32
    %u = arith.mulf %a, %t : f32
    %v = arith.addf %a, %u : f32
    linalg.yield %v : f32
  } -> tensor<7x32xf32>
  return %r : tensor<7x32xf32>
}
func.func @loss(%x: tensor<7x32xf32> {remat.data = "x"}, %w: tensor<32x32xf32> {opt.param = "w", opt.init = "normal(0.2)"}) -> tensor<f32> {
  %named = remat.name "n" %w : tensor<32x32xf32>
  %y = func.call @scale(%x, %named) : (tensor<7x32xf32>, tensor<32x32xf32>) -> tensor<7x32xf32>
  %z = func.call @scale(%y, %w) : (tensor<7x32xf32>, tensor<32x32xf32>) -> tensor<7x32xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#full, #none], iterator_types = ["reduction", "reduction"]} ins(%z : tensor<7x32xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = math.sin %a : f32
    %q = arith.addf %acc, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
