// Functions that stay, and call others that stay: what the inner ones save crosses the outer ones' border.
opt.optimizer @adamw = #opt.adamw<lr = 0.01>
remat.train_step @step for @loss optimizer(@adamw) {eager, steps = 3, log_every = 1}
func.func private @dense(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {no_inline} {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.tanh ins(%h : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
func.func private @block(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {no_inline} {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<8x8xf32>, %b = %w : tensor<8x8xf32>, %c = %v : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %1 = func.call @dense(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = func.call @dense(%1, %c) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    remat.yield %2 : tensor<8x8xf32>
  }
  %3 = func.call @dense(%r, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = linalg.add ins(%3, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
func.func @loss(%x: tensor<8x8xf32> {remat.data = "x"},
                %w0: tensor<8x8xf32> {opt.param = "w0", opt.init = "normal(0.3)"},
                %v0: tensor<8x8xf32> {opt.param = "v0", opt.init = "normal(0.3)"},
                %w1: tensor<8x8xf32> {opt.param = "w1", opt.init = "normal(0.3)"},
                %v1: tensor<8x8xf32> {opt.param = "v1", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %1 = call @block(%x, %w0, %v0) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = call @block(%1, %w1, %v1) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = call @block(%2, %w1, %v0) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = call @dense(%3, %v1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s0 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%c0 : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.reduce { arith.addf } ins(%4 : tensor<8x8xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}
