// The sum of squares of embedded tokens, two at a time, in a recomputed region in a loop.

#row = affine_map<(t, d) -> (t)>
#all = affine_map<(t, d) -> (t, d)>

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, shuffle = false, log_every = 1}

func.func @loss(%table: tensor<5x4xf32> {opt.param = "table", opt.init = "normal(0.5)"},
                %tokens: tensor<1x2xi64> {remat.data = "tokens"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %start = tensor.from_elements %zero : tensor<f32>
  %two = tensor.collapse_shape %tokens [[0, 1]] : tensor<1x2xi64> into tensor<2xi64>
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %start) -> tensor<f32> {
    %next = remat.region (%w = %table : tensor<5x4xf32>, %t = %two : tensor<2xi64>, %a = %acc : tensor<f32>) -> tensor<f32> {
      %empty = tensor.empty() : tensor<2x4xf32>
      %rows = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
          ins(%t : tensor<2xi64>) outs(%empty : tensor<2x4xf32>) {
      ^bb0(%token: i64, %out: f32):
        %r = arith.index_cast %token : i64 to index
        %d = linalg.index 1 : index
        %e = tensor.extract %w[%r, %d] : tensor<5x4xf32>
        linalg.yield %e : f32
      } -> tensor<2x4xf32>
      %s = linalg.generic {indexing_maps = [#all, affine_map<(t, d) -> ()>], iterator_types = ["reduction", "reduction"]}
          ins(%rows : tensor<2x4xf32>) outs(%a : tensor<f32>) {
      ^bb0(%x: f32, %o: f32):
        %sq = arith.mulf %x, %x : f32
        %n = arith.addf %o, %sq : f32
        linalg.yield %n : f32
      } -> tensor<f32>
      remat.yield %s : tensor<f32>
    }
    scf.yield %next : tensor<f32>
  }
  return %sum : tensor<f32>
}
