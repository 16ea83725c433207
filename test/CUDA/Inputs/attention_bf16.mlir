// As attention.mlir, of bf16: by tensor cores. Two layers of causal attention of two heads that share learned keys and values, with a learned bias: several tiles of queries and keys.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#column = affine_map<(d0, d1, d2) -> (d2)>
#none = affine_map<(d0, d1, d2) -> ()>
#q = affine_map<(g, m, n, d, v) -> (g, m, d)>
#k = affine_map<(g, m, n, d, v) -> (n, d)>
#v = affine_map<(g, m, n, d, v) -> (n, v)>
#b = affine_map<(g, m, n, d, v) -> (m, n)>
#o = affine_map<(g, m, n, d, v) -> (g, m, v)>
#l = affine_map<(g, m, n, d, v) -> (g, m)>
opt.optimizer @o = #opt.sgd<lr = 1.0e-2, momentum = 0.9>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 2}
func.func private @attend(%x: tensor<2x70x8xbf16>, %gain: tensor<8xbf16>, %k: tensor<70x8xbf16>, %v: tensor<70x8xbf16>,
                          %bias: tensor<70x70xf32>) -> tensor<2x70x8xbf16> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x70x8xbf16>
  %q = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %gain : tensor<2x70x8xbf16>, tensor<8xbf16>) outs(%e : tensor<2x70x8xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %out: bf16):
    %p = arith.mulf %a, %g : bf16
    linalg.yield %p : bf16
  } -> tensor<2x70x8xbf16>
  %r = tensor.empty() : tensor<2x70xf32>
  %y, %s = remat.attention ins(%q, %k, %v : tensor<2x70x8xbf16>, tensor<70x8xbf16>, tensor<70x8xbf16>) scores(%bias : tensor<70x70xf32>)
      outs(%e, %r : tensor<2x70x8xbf16>, tensor<2x70xf32>) attributes {indexing_maps = [#q, #k, #v, #b, #o, #l]} {
  ^bb0(%g: index, %m: index, %n: index, %score: f32, %more: f32):
    %t = arith.addf %score, %more : f32
    %seen = arith.cmpi ule, %n, %m : index
    %masked = arith.select %seen, %t, %low : f32
    remat.yield %masked : f32
  } -> tensor<2x70x8xbf16>, tensor<2x70xf32>
  return %y : tensor<2x70x8xbf16>
}
func.func @loss(%wide: tensor<2x70x8xf32> {remat.data = "x"}, %gain: tensor<8xbf16> {opt.param = "gain", opt.init = "normal(1.0)"},
    %k: tensor<70x8xbf16> {opt.param = "k", opt.init = "normal(1.0)"}, %v: tensor<70x8xbf16> {opt.param = "v", opt.init = "normal(1.0)"},
    %bias: tensor<70x70xf32> {opt.param = "bias", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %narrow = tensor.empty() : tensor<2x70x8xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide : tensor<2x70x8xf32>) outs(%narrow : tensor<2x70x8xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<2x70x8xbf16>
  %h0 = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<2x70x8xbf16>, %g = %gain : tensor<8xbf16>, %k0 = %k : tensor<70x8xbf16>,
      %v0 = %v : tensor<70x8xbf16>, %b0 = %bias : tensor<70x70xf32>) -> tensor<2x70x8xbf16> {
    %r = func.call @attend(%a, %g, %k0, %v0, %b0) : (tensor<2x70x8xbf16>, tensor<8xbf16>, tensor<70x8xbf16>, tensor<70x8xbf16>, tensor<70x70xf32>) -> tensor<2x70x8xbf16>
    %n = remat.name "attended" %r : tensor<2x70x8xbf16>
    remat.yield %n : tensor<2x70x8xbf16>
  }
  %h1 = remat.region policy(#remat.nothing_saveable) (%a = %h0 : tensor<2x70x8xbf16>, %g = %gain : tensor<8xbf16>, %k0 = %k : tensor<70x8xbf16>,
      %v0 = %v : tensor<70x8xbf16>, %b0 = %bias : tensor<70x70xf32>) -> tensor<2x70x8xbf16> {
    %r = func.call @attend(%a, %g, %k0, %v0, %b0) : (tensor<2x70x8xbf16>, tensor<8xbf16>, tensor<70x8xbf16>, tensor<70x8xbf16>, tensor<70x70xf32>) -> tensor<2x70x8xbf16>
    remat.yield %r : tensor<2x70x8xbf16>
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%h1 : tensor<2x70x8xbf16>) outs(%z : tensor<f32>) {
  ^bb0(%u: bf16, %acc: f32):
    %w = arith.extf %u : bf16 to f32
    %square = arith.mulf %w, %w : f32
    %s = arith.addf %acc, %square : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
