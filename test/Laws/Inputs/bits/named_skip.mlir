opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func @loss(%x: tensor<32x32xf32> {remat.data = "x"}, %w: tensor<32x32xf32> {opt.param = "w", opt.init = "normal(0.3)"},
                %k1: tensor<32x32xf32> {opt.param = "k1", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %y = remat.region policy(#remat.save_only_names<"h">) (%xx = %x : tensor<32x32xf32>, %ww = %w : tensor<32x32xf32>, %kk = %k1 : tensor<32x32xf32>) -> tensor<32x32xf32> {
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<32x32xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %h = linalg.matmul ins(%xx, %ww : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %n = remat.name "h" %h : tensor<32x32xf32>
    %a = linalg.tanh ins(%n : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %p = linalg.matmul ins(%a, %kk : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %s = linalg.add ins(%p, %h : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %u = linalg.mul ins(%s, %n : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = linalg.tanh ins(%u : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %t : tensor<32x32xf32>
  }
  %s0 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%c0 : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<32x32xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}
