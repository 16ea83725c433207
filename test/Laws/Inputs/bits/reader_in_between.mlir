// Kernels before and after a product that reads what they read: one region of them would add up a gradient in another order.
#full = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#none = affine_map<(i, j) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 0.01>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func @loss(%x: tensor<8x32xf32> {remat.data = "x"}, %w: tensor<32x32xf32> {opt.param = "w", opt.init = "normal(0.1)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %ec = tensor.empty() : tensor<32xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [#full, #column], iterator_types = ["reduction", "parallel"]} ins(%w : tensor<32x32xf32>) outs(%zc : tensor<32xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = arith.addf %acc, %a : f32
    linalg.yield %p : f32
  } -> tensor<32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x32xf32>, tensor<32x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.generic {indexing_maps = [#full, #column, #full], iterator_types = ["parallel", "parallel"]} ins(%h, %s : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = math.tanh %a : f32
    %p = arith.mulf %t, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x32xf32>
  %g = linalg.matmul ins(%y, %w : tensor<8x32xf32>, tensor<32x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  %ee = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%ee : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#full, #none], iterator_types = ["reduction", "reduction"]} ins(%g : tensor<8x32xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = math.sin %a : f32
    %q = arith.addf %acc, %t : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
