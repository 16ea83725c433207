// Elementwise values that a policy names, between products: cheap enough to recompute, were they not named. Fills and empty tensors are
// equal in all layers.
opt.optimizer @sgd = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 2}
func.func @loss(%x: tensor<1024x1024xf32> {remat.data = "x"},
    %w0: tensor<1024x1024xf32> {opt.param = "w0", opt.init = "normal(0.05)"},
    %w1: tensor<1024x1024xf32> {opt.param = "w1", opt.init = "normal(0.05)"},
    %w2: tensor<1024x1024xf32> {opt.param = "w2", opt.init = "normal(0.05)"},
    %w3: tensor<1024x1024xf32> {opt.param = "w3", opt.init = "normal(0.05)"}) -> tensor<f32> {
  %h0 = remat.region policy(#remat.save_only_names<"act">) (%a = %x : tensor<1024x1024xf32>, %w = %w0 : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<1024x1024xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s = linalg.tanh ins(%p : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %n = remat.name "act" %s : tensor<1024x1024xf32>
    %q = linalg.matmul ins(%n, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %r = linalg.exp ins(%q : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    remat.yield %r : tensor<1024x1024xf32>
  }
  %h1 = remat.region policy(#remat.nothing_saveable) (%a = %h0 : tensor<1024x1024xf32>, %w = %w1 : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<1024x1024xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s = linalg.tanh ins(%p : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %n = remat.name "other" %s : tensor<1024x1024xf32>
    %q = linalg.matmul ins(%n, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %r = linalg.exp ins(%q : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    remat.yield %r : tensor<1024x1024xf32>
  }
  %h2 = remat.region policy(#remat.save_only_names<"act">) (%a = %h1 : tensor<1024x1024xf32>, %w = %w2 : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<1024x1024xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s = linalg.tanh ins(%p : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %n = remat.name "act" %s : tensor<1024x1024xf32>
    %q = linalg.matmul ins(%n, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %r = linalg.exp ins(%q : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    remat.yield %r : tensor<1024x1024xf32>
  }
  %h3 = remat.region policy(#remat.save_only_names<"act">) (%a = %h2 : tensor<1024x1024xf32>, %w = %w3 : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<1024x1024xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = linalg.matmul ins(%a, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s = linalg.tanh ins(%p : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %n = remat.name "act" %s : tensor<1024x1024xf32>
    %q = linalg.matmul ins(%n, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %r = linalg.sqrt ins(%q : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    remat.yield %r : tensor<1024x1024xf32>
  }
  %zero = arith.constant 0.0 : f32
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%h3 : tensor<1024x1024xf32>) outs(%start : tensor<f32>) dimensions = [0, 1]
  return %loss : tensor<f32>
}
