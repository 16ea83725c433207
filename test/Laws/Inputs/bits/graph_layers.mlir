// Layers of a graph network: each node adds up what the edges bring, several to one node; one layer adds to what it reads.
#row = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%w: tensor<16x16xf32> {opt.init = "normal(0.3)", opt.param = "w"}, %x: tensor<5x16xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %1 = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<5x16xf32>, %b = %w : tensor<16x16xf32>) -> tensor<5x16xf32> {
      %zero = arith.constant 0.0 : f32
      %to = arith.constant dense<[0, 3, 3, 1, 4, 3, 0]> : tensor<7xi64>
      %from = arith.constant dense<[1, 2, 0, 4, 4, 1, 3]> : tensor<7xi32>
      %e = tensor.empty() : tensor<5x16xf32>
      %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
      %h = linalg.matmul ins(%a, %b : tensor<5x16xf32>, tensor<16x16xf32>) outs(%zeros : tensor<5x16xf32>) -> tensor<5x16xf32>
      %m = tensor.empty() : tensor<7x16xf32>
      %messages = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%from : tensor<7xi32>) outs(%m : tensor<7x16xf32>) {
      ^bb0(%n: i32, %o: f32):
        %r = arith.index_cast %n : i32 to index
        %c = linalg.index 1 : index
        %v = tensor.extract %h[%r, %c] : tensor<5x16xf32>
        %t = math.sin %v : f32
        linalg.yield %t : f32
      } -> tensor<7x16xf32>
      %sums = remat.scatter_add ins(%messages : tensor<7x16xf32>) outs(%zeros : tensor<5x16xf32>) {
      ^bb0(%i: index, %j: index):
        %n = tensor.extract %to[%i] : tensor<7xi64>
        %r = arith.index_cast %n : i64 to index
        remat.yield %r, %j : index, index
      } -> tensor<5x16xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums : tensor<5x16xf32>) outs(%e : tensor<5x16xf32>) {
      ^bb0(%v: f32, %o: f32):
        %t = math.tanh %v : f32
        linalg.yield %t : f32
      } -> tensor<5x16xf32>
      remat.yield %y : tensor<5x16xf32>
    }
    %2 = remat.region policy(#remat.dots_saveable) (%a = %1 : tensor<5x16xf32>, %b = %w : tensor<16x16xf32>) -> tensor<5x16xf32> {
      %zero = arith.constant 0.0 : f32
      %to = arith.constant dense<[[0, 3, 3, 1, 4, 3, 0, 2, 2, 2, 0, 1, 0, 1, 0, 4]]> : tensor<1x16xi64>
      %e = tensor.empty() : tensor<5x16xf32>
      %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
      %h = linalg.matmul ins(%a, %b : tensor<5x16xf32>, tensor<16x16xf32>) outs(%zeros : tensor<5x16xf32>) -> tensor<5x16xf32>
      %zero_row = arith.constant 0 : index
      %sums = remat.scatter_add ins(%h : tensor<5x16xf32>) outs(%a : tensor<5x16xf32>) {
      ^bb0(%i: index, %j: index):
        %n = tensor.extract %to[%zero_row, %j] : tensor<1x16xi64>
        %r = arith.index_cast %n : i64 to index
        remat.yield %r, %j : index, index
      } -> tensor<5x16xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums : tensor<5x16xf32>) outs(%e : tensor<5x16xf32>) {
      ^bb0(%v: f32, %o: f32):
        %t = math.sin %v : f32
        %u = arith.mulf %t, %v : f32
        linalg.yield %u : f32
      } -> tensor<5x16xf32>
      remat.yield %y : tensor<5x16xf32>
    }
    %zero = arith.constant 0.0 : f32
    %s = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
    %loss = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%2 : tensor<5x16xf32>) outs(%start : tensor<f32>) {
    ^bb0(%v: f32, %acc: f32):
      %q = arith.mulf %v, %v : f32
      %t = arith.addf %acc, %q : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    return %loss : tensor<f32>
  }
}
