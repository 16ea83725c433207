// Layers that stay functions: each is compiled once. One of the weights is used in two of them.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func private @layer(%x: tensor<32x32xf32>, %rng: !remat.rng, %w: tensor<32x32xf32>) -> (tensor<32x32xf32>, !remat.rng) attributes {no_inline} {
  %y, %next = remat.region policy(#remat.nothing_saveable) (%xx = %x : tensor<32x32xf32>, %r = %rng : !remat.rng, %ww = %w : tensor<32x32xf32>) -> tensor<32x32xf32>, !remat.rng {
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<32x32xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %h = linalg.matmul ins(%xx, %ww : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %mask, %rr = remat.random_bernoulli %r {p = 0.75 : f64} : tensor<32x32xi1>
    %d = linalg.select ins(%mask, %h, %z : tensor<32x32xi1>, tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %a = linalg.tanh ins(%d : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %s = linalg.add ins(%a, %xx : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %s, %rr : tensor<32x32xf32>, !remat.rng
  }
  return %y, %next : tensor<32x32xf32>, !remat.rng
}
func.func @loss(%x0: tensor<32x32xf32> {remat.data = "x"}, %r0: !remat.rng,
                %w: tensor<32x32xf32> {opt.param = "w", opt.init = "normal(0.3)"},
                %v: tensor<32x32xf32> {opt.param = "v", opt.init = "normal(0.3)"}) -> (tensor<f32>, !remat.rng) {
  %c0 = arith.constant 0.0 : f32
  %x1, %r1 = call @layer(%x0, %r0, %w) : (tensor<32x32xf32>, !remat.rng, tensor<32x32xf32>) -> (tensor<32x32xf32>, !remat.rng)
  %x2, %r2 = call @layer(%x1, %r1, %v) : (tensor<32x32xf32>, !remat.rng, tensor<32x32xf32>) -> (tensor<32x32xf32>, !remat.rng)
  %x3, %r3 = call @layer(%x2, %r2, %w) : (tensor<32x32xf32>, !remat.rng, tensor<32x32xf32>) -> (tensor<32x32xf32>, !remat.rng)
  %s0 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%c0 : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.reduce { arith.addf } ins(%x3 : tensor<32x32xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %l, %r3 : tensor<f32>, !remat.rng
}
