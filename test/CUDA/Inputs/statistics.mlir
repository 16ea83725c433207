// Statistics of a batch, gradients of a gain and a bias, a loss: few results of many elements each, on CUDA in chunks.
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
opt.optimizer @o = #opt.sgd<lr = 1.0e-1, momentum = 0.9>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 3}
func.func private @normalize(%x: tensor<16411x8xf32>, %gain: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<16411x8xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 16411.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<16411x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %u, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %squares = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<16411x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %q = arith.mulf %u, %u : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %d = tensor.empty() : tensor<16411x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #column, #column, #column, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum, %squares, %gain, %bias : tensor<16411x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%d : tensor<16411x8xf32>) {
  ^bb0(%u: f32, %s: f32, %q: f32, %g: f32, %b: f32, %o: f32):
    %mean = arith.divf %s, %n : f32
    %square = arith.divf %q, %n : f32
    %mm = arith.mulf %mean, %mean : f32
    %variance = arith.subf %square, %mm : f32
    %r = math.rsqrt %variance : f32
    %c = arith.subf %u, %mean : f32
    %k = arith.mulf %c, %r : f32
    %l = arith.mulf %k, %g : f32
    %t = arith.addf %l, %b : f32
    %h = math.tanh %t : f32
    linalg.yield %h : f32
  } -> tensor<16411x8xf32>
  return %y : tensor<16411x8xf32>
}
func.func @loss(%x: tensor<16411x8xf32> {remat.data = "x"}, %g0: tensor<8xf32> {opt.param = "g0", opt.init = "normal(0.3)"},
    %b0: tensor<8xf32> {opt.param = "b0", opt.init = "normal(0.3)"}, %g1: tensor<8xf32> {opt.param = "g1", opt.init = "normal(0.3)"},
    %b1: tensor<8xf32> {opt.param = "b1", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %h0 = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<16411x8xf32>, %g = %g0 : tensor<8xf32>, %b = %b0 : tensor<8xf32>) -> tensor<16411x8xf32> {
    %r = func.call @normalize(%a, %g, %b) : (tensor<16411x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<16411x8xf32>
    remat.yield %r : tensor<16411x8xf32>
  }
  %h1 = remat.region policy(#remat.nothing_saveable) (%a = %h0 : tensor<16411x8xf32>, %g = %g1 : tensor<8xf32>, %b = %b1 : tensor<8xf32>) -> tensor<16411x8xf32> {
    %r = func.call @normalize(%a, %g, %b) : (tensor<16411x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<16411x8xf32>
    remat.yield %r : tensor<16411x8xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<f32>
  %scale = arith.constant 1.0e-5 : f32
  %loss = linalg.generic {indexing_maps = [#id, #id, #none], iterator_types = ["reduction", "reduction"]} ins(%h1, %h0 : tensor<16411x8xf32>, tensor<16411x8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %w = arith.addf %u, %v : f32
    %q = arith.mulf %w, %w : f32
    %p = arith.mulf %q, %scale : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
