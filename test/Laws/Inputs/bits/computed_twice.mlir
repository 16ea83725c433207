#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
opt.optimizer @o = #opt.sgd<lr = 1.0e-1>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 3, log_every = 1}
func.func @loss(%x: tensor<4x5xf32> {remat.data = "x"}, %z: tensor<5x5xf32> {opt.param = "z", opt.init = "normal(0.5)"}) -> tensor<f32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x5xf32>
  %0 = linalg.fill ins(%c : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %w1 = remat.region policy(#remat.nothing_saveable) (%a = %z : tensor<5x5xf32>) -> tensor<5x5xf32> {
    %t = math.tanh %a : tensor<5x5xf32>
    remat.yield %t : tensor<5x5xf32>
  }
  %h = linalg.matmul ins(%x, %w1 : tensor<4x5xf32>, tensor<5x5xf32>) outs(%0 : tensor<4x5xf32>) -> tensor<4x5xf32>
  %th = math.tanh %h : tensor<4x5xf32>
  %w2 = remat.region policy(#remat.everything_saveable) (%a = %z : tensor<5x5xf32>) -> tensor<5x5xf32> {
    %t = math.tanh %a : tensor<5x5xf32>
    remat.yield %t : tensor<5x5xf32>
  }
  %g = linalg.matmul ins(%th, %w2 : tensor<4x5xf32>, tensor<5x5xf32>) outs(%0 : tensor<4x5xf32>) -> tensor<4x5xf32>
  %es = tensor.empty() : tensor<f32>
  %s0 = linalg.fill ins(%c : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%g : tensor<4x5xf32>) outs(%s0 : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    %q = arith.mulf %p, %p : f32
    %r = arith.addf %acc, %q : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
