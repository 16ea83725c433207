// A softmax as exporters write it, with a name on each of its parts.
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>
func.func @loss(%x: tensor<40x36xf32> {remat.data = "x"}, %w: tensor<24x36xf32> {opt.param = "w", opt.init = "normal(0.05)"}) -> tensor<f32> {
  %ewt = tensor.empty() : tensor<36x24xf32>
  %wt = linalg.transpose ins(%w : tensor<24x36xf32>) outs(%ewt : tensor<36x24xf32>) permutation = [1, 0]
  %zh = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<40x24xf32>
  %fh = linalg.fill ins(%zh : f32) outs(%eh : tensor<40x24xf32>) -> tensor<40x24xf32>
  %s = linalg.matmul ins(%x, %wt : tensor<40x36xf32>, tensor<36x24xf32>) outs(%fh : tensor<40x24xf32>) -> tensor<40x24xf32>
  %e0 = tensor.empty() : tensor<40xf32>
  %e1 = tensor.empty() : tensor<40x24xf32>
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %m0 = linalg.fill ins(%ninf : f32) outs(%e0 : tensor<40xf32>) -> tensor<40xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<40xf32>) -> tensor<40xf32>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<40x24xf32>) outs(%m0 : tensor<40xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %k = arith.maximumf %acc, %a : f32
    linalg.yield %k : f32
  } -> tensor<40xf32>
  %nm = remat.name "maximum" %m : tensor<40xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%s, %nm : tensor<40x24xf32>, tensor<40xf32>) outs(%e1 : tensor<40x24xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %k = arith.subf %a, %b : f32
    linalg.yield %k : f32
  } -> tensor<40x24xf32>
  %nd = remat.name "differences" %d : tensor<40x24xf32>
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%nd : tensor<40x24xf32>) outs(%e1 : tensor<40x24xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %k = math.exp %a : f32
    linalg.yield %k : f32
  } -> tensor<40x24xf32>
  %np = remat.name "powers" %p : tensor<40x24xf32>
  %r = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%np : tensor<40x24xf32>) outs(%s0 : tensor<40xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %k = arith.addf %acc, %a : f32
    linalg.yield %k : f32
  } -> tensor<40xf32>
  %nr = remat.name "sum" %r : tensor<40xf32>
  %q = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%np, %nr : tensor<40x24xf32>, tensor<40xf32>) outs(%e1 : tensor<40x24xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %k = arith.divf %a, %b : f32
    linalg.yield %k : f32
  } -> tensor<40x24xf32>
  %y = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<40x24xf32>) outs(%e1 : tensor<40x24xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %k = arith.mulf %a, %a : f32
    linalg.yield %k : f32
  } -> tensor<40x24xf32>

  %zf = arith.constant 0.0 : f32
  %el = tensor.empty() : tensor<f32>
  %fl = linalg.fill ins(%zf : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#full, #full, #none], iterator_types = ["reduction", "reduction"]} ins(%y, %y : tensor<40x24xf32>, tensor<40x24xf32>) outs(%fl : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %sn = math.sin %a : f32
    %pp = arith.mulf %sn, %b : f32
    %qq = arith.addf %acc, %pp : f32
    linalg.yield %qq : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
