// Layers whose norms are computed twice in the backward (remat-repeat-at-peak), with gains that eager updates change.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#none = affine_map<(i, j) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 0.01>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func private @layer(%x: tensor<128x256xf32>, %gain: tensor<256xf32>, %w: tensor<256x1024xf32>, %v: tensor<1024x256xf32>) -> tensor<128x256xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %er = tensor.empty() : tensor<128xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<128xf32>) -> tensor<128xf32>
  %squares = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<128x256xf32>) outs(%zr : tensor<128xf32>) {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<128xf32>
  %ex = tensor.empty() : tensor<128x256xf32>
  %n = linalg.generic {indexing_maps = [#full, #row, #column, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %squares, %gain : tensor<128x256xf32>, tensor<128xf32>, tensor<256xf32>) outs(%ex : tensor<128x256xf32>) {
  ^bb0(%a: f32, %s: f32, %g: f32, %o: f32):
    %t = arith.addf %s, %one : f32
    %r = math.rsqrt %t : f32
    %p = arith.mulf %a, %r : f32
    %q = arith.mulf %p, %g : f32
    linalg.yield %q : f32
  } -> tensor<128x256xf32>
  %eh = tensor.empty() : tensor<128x1024xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %h = linalg.matmul ins(%n, %w : tensor<128x256xf32>, tensor<256x1024xf32>) outs(%zh : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %g = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<128x1024xf32>) outs(%eh : tensor<128x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.sin %a : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %zx = linalg.fill ins(%zero : f32) outs(%ex : tensor<128x256xf32>) -> tensor<128x256xf32>
  %m = linalg.matmul ins(%g, %v : tensor<128x1024xf32>, tensor<1024x256xf32>) outs(%zx : tensor<128x256xf32>) -> tensor<128x256xf32>
  %y = linalg.add ins(%m, %x : tensor<128x256xf32>, tensor<128x256xf32>) outs(%ex : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %y : tensor<128x256xf32>
}
func.func @loss(%x: tensor<128x256xf32> {remat.data = "x"}, %k: tensor<256x256xf32> {opt.param = "k", opt.init = "normal(0.05)"},
                %g0: tensor<256xf32> {opt.param = "g0", opt.init = "ones"}, %w0: tensor<256x1024xf32> {opt.param = "w0", opt.init = "normal(0.05)"},
                %v0: tensor<1024x256xf32> {opt.param = "v0", opt.init = "normal(0.05)"}, %g1: tensor<256xf32> {opt.param = "g1", opt.init = "ones"},
                %w1: tensor<256x1024xf32> {opt.param = "w1", opt.init = "normal(0.05)"}, %v1: tensor<1024x256xf32> {opt.param = "v1", opt.init = "normal(0.05)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<128x256xf32>) -> tensor<128x256xf32>
  %a = linalg.matmul ins(%x, %k : tensor<128x256xf32>, tensor<256x256xf32>) outs(%z : tensor<128x256xf32>) -> tensor<128x256xf32>
  %b = remat.region policy(#remat.nothing_saveable) (%i = %a : tensor<128x256xf32>, %g = %g0 : tensor<256xf32>, %w = %w0 : tensor<256x1024xf32>, %v = %v0 : tensor<1024x256xf32>) -> tensor<128x256xf32> {
    %r = func.call @layer(%i, %g, %w, %v) : (tensor<128x256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>) -> tensor<128x256xf32>
    remat.yield %r : tensor<128x256xf32>
  }
  %c = remat.region policy(#remat.nothing_saveable) (%i = %b : tensor<128x256xf32>, %g = %g1 : tensor<256xf32>, %w = %w1 : tensor<256x1024xf32>, %v = %v1 : tensor<1024x256xf32>) -> tensor<128x256xf32> {
    %r = func.call @layer(%i, %g, %w, %v) : (tensor<128x256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>) -> tensor<128x256xf32>
    remat.yield %r : tensor<128x256xf32>
  }
  %es = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#full, #none], iterator_types = ["reduction", "reduction"]} ins(%c : tensor<128x256xf32>) outs(%f : tensor<f32>) {
  ^bb0(%p: f32, %s: f32):
    %t = math.sin %p : f32
    %q = arith.addf %s, %t : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
