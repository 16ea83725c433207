// Batch norms of products in regions, the differences of one with a name. Eight results of 4096 elements: squares are added up around
// the mean of 64 of these, on CUDA.
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
opt.optimizer @o = #opt.sgd<lr = 1.0e-1, momentum = 0.9>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 3}
func.func @loss(%x: tensor<4096x4xf32> {remat.data = "x"}, %w: tensor<4x8xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %gain: tensor<8xf32> {opt.param = "gain", opt.init = "ones"}, %v: tensor<8x8xf32> {opt.param = "v", opt.init = "normal(0.5)"}, %bias: tensor<8xf32> {opt.param = "bias", opt.init = "normal(0.1)"}) -> (tensor<f32> {remat.loss}) {
  %y = remat.region (%rx = %x : tensor<4096x4xf32>, %rw = %w : tensor<4x8xf32>, %rgain = %gain : tensor<8xf32>) -> tensor<4096x8xf32> {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 4096.0 : f32
    %epsilon = arith.constant 1.0e-5 : f32
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %full = tensor.empty() : tensor<4096x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%full : tensor<4096x8xf32>) -> tensor<4096x8xf32>
    %h = linalg.matmul ins(%rx, %rw : tensor<4096x4xf32>, tensor<4x8xf32>) outs(%zeros : tensor<4096x8xf32>) -> tensor<4096x8xf32>
    %total = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%h : tensor<4096x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%u: f32, %o: f32):
      %s = arith.addf %o, %u : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %total : tensor<4096x8xf32>, tensor<8xf32>) outs(%full : tensor<4096x8xf32>) {
    ^bb0(%u: f32, %t: f32, %o: f32):
      %m = arith.divf %t, %n : f32
      %r = arith.subf %u, %m : f32
      linalg.yield %r : f32
    } -> tensor<4096x8xf32>
    %named = remat.name "differences" %d : tensor<4096x8xf32>
    %squares = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%named : tensor<4096x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%u: f32, %o: f32):
      %q = arith.mulf %u, %u : f32
      %s = arith.addf %o, %q : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %y = linalg.generic {indexing_maps = [#id, #column, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%named, %squares, %rgain : tensor<4096x8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%full : tensor<4096x8xf32>) {
    ^bb0(%u: f32, %q: f32, %g: f32, %o: f32):
      %variance = arith.divf %q, %n : f32
      %more = arith.addf %variance, %epsilon : f32
      %r = math.rsqrt %more : f32
      %k = arith.mulf %u, %r : f32
      %l = arith.mulf %k, %g : f32
      %t = math.tanh %l : f32
      linalg.yield %t : f32
    } -> tensor<4096x8xf32>
    remat.yield %y : tensor<4096x8xf32>
  }
  %l = remat.region (%ry = %y : tensor<4096x8xf32>, %rv = %v : tensor<8x8xf32>, %rbias = %bias : tensor<8xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 4096.0 : f32
    %epsilon = arith.constant 1.0e-5 : f32
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %full = tensor.empty() : tensor<4096x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%full : tensor<4096x8xf32>) -> tensor<4096x8xf32>
    %h = linalg.matmul ins(%ry, %rv : tensor<4096x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4096x8xf32>) -> tensor<4096x8xf32>
    %total = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%h : tensor<4096x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%u: f32, %o: f32):
      %s = arith.addf %o, %u : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %squares = linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]} ins(%h, %total : tensor<4096x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%u: f32, %t: f32, %o: f32):
      %m = arith.divf %t, %n : f32
      %d = arith.subf %u, %m : f32
      %q = arith.mulf %d, %d : f32
      %s = arith.addf %o, %q : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %s0 = tensor.empty() : tensor<f32>
    %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
    %loss = linalg.generic {indexing_maps = [#id, #column, #column, #column, #none], iterator_types = ["reduction", "reduction"]} ins(%h, %total, %squares, %rbias : tensor<4096x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%s1 : tensor<f32>) {
    ^bb0(%u: f32, %t: f32, %q: f32, %b: f32, %o: f32):
      %m = arith.divf %t, %n : f32
      %d = arith.subf %u, %m : f32
      %variance = arith.divf %q, %n : f32
      %more = arith.addf %variance, %epsilon : f32
      %r = math.rsqrt %more : f32
      %k = arith.mulf %d, %r : f32
      %f = arith.addf %k, %b : f32
      %p = math.tanh %f : f32
      %mean = arith.divf %p, %n : f32
      %sum = arith.addf %o, %mean : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    remat.yield %loss : tensor<f32>
  }
  return %l : tensor<f32>
}
