// Regions that end between differences from a mean and the sum of their squares: with a mean of the region's own, and of
// differences that something else reads, too.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func private @center(%x: tensor<32x24xf32>) -> tensor<32x24xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 24.0 : f32
  %er = tensor.empty() : tensor<32xf32>
  %e = tensor.empty() : tensor<32x24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %total = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<32x24xf32>) outs(%z : tensor<32xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %s, %a : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %total : tensor<32x24xf32>, tensor<32xf32>) outs(%e : tensor<32x24xf32>) {
  ^bb0(%a: f32, %u: f32, %o: f32):
    %m = arith.divf %u, %n : f32
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<32x24xf32>
  return %d : tensor<32x24xf32>
}
func.func private @squares(%d: tensor<32x24xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %v = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%d : tensor<32x24xf32>) outs(%z : tensor<32xf32>) {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %a : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %v : tensor<32xf32>
}
func.func private @divide(%d: tensor<32x24xf32>, %v: tensor<32xf32>) -> tensor<32x24xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x24xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%d, %v : tensor<32x24xf32>, tensor<32xf32>) outs(%e : tensor<32x24xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %b, %one : f32
    %r = math.rsqrt %c : f32
    %q = arith.mulf %a, %r : f32
    linalg.yield %q : f32
  } -> tensor<32x24xf32>
  return %y : tensor<32x24xf32>
}
func.func @loss(%x: tensor<32x16xf32> {remat.data = "x"}, %w: tensor<16x24xf32> {opt.param = "w", opt.init = "normal(0.3)"}, %k: tensor<24x24xf32> {opt.param = "k", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x24xf32>) -> tensor<32x24xf32>
  %h = linalg.matmul ins(%x, %w : tensor<32x16xf32>, tensor<16x24xf32>) outs(%z : tensor<32x24xf32>) -> tensor<32x24xf32>
  %d = remat.region policy(#remat.nothing_saveable) (%a = %h : tensor<32x24xf32>) -> tensor<32x24xf32> {
    %r = func.call @center(%a) : (tensor<32x24xf32>) -> tensor<32x24xf32>
    remat.yield %r : tensor<32x24xf32>
  }
  %v = func.call @squares(%d) : (tensor<32x24xf32>) -> tensor<32xf32>
  %y = func.call @divide(%d, %v) : (tensor<32x24xf32>, tensor<32xf32>) -> tensor<32x24xf32>
  %g = linalg.matmul ins(%y, %k : tensor<32x24xf32>, tensor<24x24xf32>) outs(%z : tensor<32x24xf32>) -> tensor<32x24xf32>
  %t = remat.region policy(#remat.dots_saveable) (%a = %g : tensor<32x24xf32>) -> tensor<32x24xf32> {
    %r = func.call @center(%a) : (tensor<32x24xf32>) -> tensor<32x24xf32>
    remat.yield %r : tensor<32x24xf32>
  }
  %q = remat.region (%a = %t : tensor<32x24xf32>) -> tensor<32xf32> {
    %r = func.call @squares(%a) : (tensor<32x24xf32>) -> tensor<32xf32>
    remat.yield %r : tensor<32xf32>
  }
  %er = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#row, #full, #none], iterator_types = ["reduction", "reduction"]} ins(%q, %y : tensor<32xf32>, tensor<32x24xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = math.sin %b : f32
    %n = math.sqrt %a : f32
    %p = arith.mulf %m, %n : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
