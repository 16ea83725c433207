#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 2, log_every = 1}
func.func @loss(%p: tensor<1xi64> {remat.data = "p"}, %w: tensor<4096xf32> {opt.param = "w", opt.init = "normal(1.0)"}) -> tensor<f32> {
  %i0 = arith.constant 0 : index
  %k = tensor.extract %p[%i0] : tensor<1xi64>
  %y = remat.region (%a = %w : tensor<4096xf32>, %m = %k : i64) -> tensor<4096xf32> {
    %e = tensor.empty() : tensor<4096xf32>
    %t = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]} ins(%a, %m : tensor<4096xf32>, i64) outs(%e : tensor<4096xf32>) {
    ^bb0(%v: f32, %d: i64, %o: f32):
      %c0 = arith.constant 0 : i64
      %f0 = arith.constant 0.0 : f32
      %n = linalg.index 0 : index
      %n64 = arith.index_cast %n : index to i64
      %r = arith.remui %n64, %d : i64
      %keep = arith.cmpi ne, %r, %c0 : i64
      %s = arith.select %keep, %v, %f0 : f32
      %h = math.tanh %s : f32
      linalg.yield %h : f32
    } -> tensor<4096xf32>
    remat.yield %t : tensor<4096xf32>
  }
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%y : tensor<4096xf32>) outs(%f : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %q = arith.addf %acc, %v : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
