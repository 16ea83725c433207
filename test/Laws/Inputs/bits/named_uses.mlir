opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func @loss(%x: tensor<32x32xf32> {remat.data = "x"}, %w: tensor<32x32xf32> {opt.param = "w", opt.init = "normal(0.3)"},
                %k1: tensor<32x32xf32> {opt.param = "k1", opt.init = "normal(0.3)"}, %k2: tensor<32x32xf32> {opt.param = "k2", opt.init = "normal(0.3)"},
                %k3: tensor<32x32xf32> {opt.param = "k3", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %h = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %n = remat.name "h" %h : tensor<32x32xf32>
  %p1 = linalg.matmul ins(%n, %k1 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p2 = linalg.matmul ins(%h, %k2 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p3 = linalg.matmul ins(%n, %k3 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s1 = linalg.add ins(%p1, %p2 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s2 = linalg.add ins(%s1, %p3 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %t = linalg.tanh ins(%s2 : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s0 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%c0 : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%t : tensor<32x32xf32>) outs(%f : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %q = arith.addf %acc, %v : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
