// A norm whose differences from the mean have a name and two readers: the sum of their squares gets others.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#line = affine_map<(i) -> (i)>
#none = affine_map<(i, j) -> ()>
opt.optimizer @o = #opt.sgd<lr = 1.0e-1>
func.func @loss(%w: tensor<16x16xf32> {opt.param = "w", opt.init = "normal(0.3)"}, %x: tensor<8x16xf32> {remat.data = "input"}) -> (tensor<f32> {remat.loss}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %h = remat.region policy(#remat.nothing_saveable) (%a = %p : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %z = arith.constant 0.0 : f32
    %n = arith.constant 16.0 : f32
    %eps = arith.constant 0.1 : f32
    %e1 = tensor.empty() : tensor<8xf32>
    %e2 = tensor.empty() : tensor<8x16xf32>
    %zz = linalg.fill ins(%z : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
    %t = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x16xf32>) outs(%zz : tensor<8xf32>) {
    ^bb0(%u: f32, %s: f32):
      %r = arith.addf %s, %u : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %m = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%t : tensor<8xf32>) outs(%e1 : tensor<8xf32>) {
    ^bb0(%u: f32, %s: f32):
      %r = arith.divf %u, %n : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%a, %m : tensor<8x16xf32>, tensor<8xf32>) outs(%e2 : tensor<8x16xf32>) {
    ^bb0(%u: f32, %v: f32, %s: f32):
      %r = arith.subf %u, %v : f32
      linalg.yield %r : f32
    } -> tensor<8x16xf32>
    %dn = remat.name "d" %d : tensor<8x16xf32>
    %q = linalg.square ins(%dn : tensor<8x16xf32>) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %qs = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%q : tensor<8x16xf32>) outs(%zz : tensor<8xf32>) {
    ^bb0(%u: f32, %s: f32):
      %r = arith.addf %s, %u : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%dn, %qs : tensor<8x16xf32>, tensor<8xf32>) outs(%e2 : tensor<8x16xf32>) {
    ^bb0(%u: f32, %v: f32, %s: f32):
      %r = arith.divf %v, %n : f32
      %r1 = arith.addf %r, %eps : f32
      %r2 = math.rsqrt %r1 : f32
      %r3 = arith.mulf %u, %r2 : f32
      %r4 = arith.maximumf %r3, %z : f32
      linalg.yield %r4 : f32
    } -> tensor<8x16xf32>
    remat.yield %y : tensor<8x16xf32>
  }
  %p2 = linalg.matmul ins(%h, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %s0 = tensor.empty() : tensor<f32>
  %sz = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#full, #full, #none], iterator_types = ["reduction", "reduction"]} ins(%p2, %x : tensor<8x16xf32>, tensor<8x16xf32>) outs(%sz : tensor<f32>) {
  ^bb0(%u: f32, %v: f32, %s: f32):
    %d = arith.subf %u, %v : f32
    %q = arith.mulf %d, %d : f32
    %r = arith.addf %s, %q : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
remat.train_step @step for @loss optimizer(@o) {eager, steps = 3, log_every = 1}
