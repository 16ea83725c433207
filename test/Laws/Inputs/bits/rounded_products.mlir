opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 2, log_every = 1}
#id = affine_map<(i, j) -> (i, j)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @loss(%x: tensor<12x40xf32> {remat.data = "x"}, %y: tensor<12x24xf32> {remat.data = "y"}, %w: tensor<40x36xf32> {opt.param = "w", opt.init = "normal(0.3)"}, %v: tensor<36x24xf32> {opt.param = "v", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %xe = tensor.empty() : tensor<12x40xbf16>
  %xn = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<12x40xf32>) outs(%xe : tensor<12x40xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %t = arith.truncf %p : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<12x40xbf16>
  %we = tensor.empty() : tensor<40x36xbf16>
  %wn = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<40x36xf32>) outs(%we : tensor<40x36xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %t = arith.truncf %p : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<40x36xbf16>
  %ve = tensor.empty() : tensor<36x24xbf16>
  %vn = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<36x24xf32>) outs(%ve : tensor<36x24xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %t = arith.truncf %p : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<36x24xbf16>
  %h = remat.region policy(#remat.nothing_saveable) (%rx = %xn : tensor<12x40xbf16>, %rw = %wn : tensor<40x36xbf16>) -> tensor<12x36xf32> {
    %c0 = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<12x36xf32>
    %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<12x36xf32>) -> tensor<12x36xf32>
    %p = linalg.matmul ins(%rx, %rw : tensor<12x40xbf16>, tensor<40x36xbf16>) outs(%z : tensor<12x36xf32>) -> tensor<12x36xf32>
    %n = remat.name "hidden" %p : tensor<12x36xf32>
    remat.yield %n : tensor<12x36xf32>
  }
  %he = tensor.empty() : tensor<12x36xbf16>
  %hn = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<12x36xf32>) outs(%he : tensor<12x36xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %t = arith.truncf %p : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<12x36xbf16>
  %s = remat.region policy(#remat.dots_saveable) (%rh = %hn : tensor<12x36xbf16>, %rv = %vn : tensor<36x24xbf16>) -> tensor<12x24xbf16> {
    %ge = tensor.empty() : tensor<12x36xbf16>
    %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%rh : tensor<12x36xbf16>) outs(%ge : tensor<12x36xbf16>) {
    ^bb0(%p: bf16, %o: bf16):
      %q = arith.extf %p : bf16 to f32
      %t = math.tanh %q : f32
      %r = arith.truncf %t : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<12x36xbf16>
    %c0 = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<12x24xf32>
    %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<12x24xf32>) -> tensor<12x24xf32>
    %d = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g, %rv : tensor<12x36xbf16>, tensor<36x24xbf16>) outs(%z : tensor<12x24xf32>) {
    ^bb0(%p: bf16, %q: bf16, %o: f32):
      %i = arith.extf %p : bf16 to f32
      %j = arith.extf %q : bf16 to f32
      %t = arith.mulf %i, %j : f32
      %u = arith.addf %o, %t : f32
      linalg.yield %u : f32
    } -> tensor<12x24xf32>
    %n = remat.name "scores" %d : tensor<12x24xf32>
    %oe = tensor.empty() : tensor<12x24xbf16>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<12x24xf32>) outs(%oe : tensor<12x24xbf16>) {
    ^bb0(%p: f32, %o: bf16):
      %t = arith.truncf %p : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<12x24xbf16>
    remat.yield %r : tensor<12x24xbf16>
  }
  %le = tensor.empty() : tensor<f32>
  %lz = linalg.fill ins(%zero : f32) outs(%le : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%s, %y : tensor<12x24xbf16>, tensor<12x24xf32>) outs(%lz : tensor<f32>) {
  ^bb0(%p: bf16, %q: f32, %o: f32):
    %c = arith.constant 0.0034722222 : f32
    %e = arith.extf %p : bf16 to f32
    %d = arith.subf %e, %q : f32
    %m = arith.mulf %d, %d : f32
    %n = arith.mulf %m, %c : f32
    %r = arith.addf %o, %n : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
