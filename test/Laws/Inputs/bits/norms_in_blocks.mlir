// Arrays that are larger than a block of rows: norms and softmax, forward and
// backward, are loops over blocks (remat-fuse-rows), and which operations share
// one depends on what is recomputed where.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#scalar = affine_map<(i, j) -> ()>

opt.optimizer @sgd = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}

func.func @loss(%x: tensor<521x96xf32> {remat.data = "x"}, %w: tensor<96xf32> {opt.param = "w", opt.init = "normal(0.5)"},
                %b: tensor<96xf32> {opt.param = "b", opt.init = "normal(0.5)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<521x96xf32>
  %h = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<521x96xf32>, tensor<96xf32>) outs(%empty : tensor<521x96xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<521x96xf32>
  %n = remat.region policy(#remat.nothing_saveable)
      (%a = %h : tensor<521x96xf32>, %g = %w : tensor<96xf32>) -> tensor<521x96xf32> {
    %c0 = arith.constant 0.0 : f32
    %width = arith.constant 96.0 : f32
    %epsilon = arith.constant 1.0e-5 : f32
    %rows = tensor.empty() : tensor<521xf32>
    %full = tensor.empty() : tensor<521x96xf32>
    %zeros = linalg.fill ins(%c0 : f32) outs(%rows : tensor<521xf32>) -> tensor<521xf32>
    %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<521x96xf32>) outs(%zeros : tensor<521xf32>) {
    ^bb0(%e: f32, %acc: f32):
      %p = arith.mulf %e, %e : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
    } -> tensor<521xf32>
    %y = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %squares, %g : tensor<521x96xf32>, tensor<521xf32>, tensor<96xf32>) outs(%full : tensor<521x96xf32>) {
    ^bb0(%e: f32, %s: f32, %gain: f32, %o: f32):
      %m = arith.divf %s, %width : f32
      %v = arith.addf %m, %epsilon : f32
      %r = math.rsqrt %v : f32
      %p = arith.mulf %e, %r : f32
      %q = arith.mulf %p, %gain : f32
      linalg.yield %q : f32
    } -> tensor<521x96xf32>
    remat.yield %y : tensor<521x96xf32>
  }
  %p = linalg.softmax dimension(1) ins(%n : tensor<521x96xf32>) outs(%empty : tensor<521x96xf32>) -> tensor<521x96xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%p, %n : tensor<521x96xf32>, tensor<521x96xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %c: f32, %acc: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
