// Images that are made wider by a table, whose derivative is the transposed table; then pixels that are added at places of their own
// image and channel, which threads share, and the largest of windows that overlap.
#id = affine_map<(n, c, i, j) -> (n, c, i, j)>
#column = affine_map<(n, c, i, j) -> (j)>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  remat.custom_vjp @widen_vjp for @widen
  func.func private @widen(%x: tensor<8x16x6x5xf32>) -> tensor<8x16x6x24xf32> {
    %first = arith.constant dense<[0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4]> : tensor<24xi32>
    %second = arith.constant dense<[1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]> : tensor<24xi32>
    %rest = arith.constant dense<[1.000000, 1.000000, 0.979167, 0.770833, 0.562500, 0.354167, 0.145833, 0.937500, 0.729167, 0.520833, 0.312500, 0.104167, 0.895833, 0.687500, 0.479167, 0.270833, 0.062500, 0.854167, 0.645833, 0.437500, 0.229167, 0.020833, 0.812500, 0.604167]> : tensor<24xf32>
    %share = arith.constant dense<[0.000000, 0.000000, 0.020833, 0.229167, 0.437500, 0.645833, 0.854167, 0.062500, 0.270833, 0.479167, 0.687500, 0.895833, 0.104167, 0.312500, 0.520833, 0.729167, 0.937500, 0.145833, 0.354167, 0.562500, 0.770833, 0.979167, 0.187500, 0.395833]> : tensor<24xf32>
    %e = tensor.empty() : tensor<8x16x6x24xf32>
    %y = linalg.generic {indexing_maps = [#column, #column, #column, #column, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%first, %rest, %second, %share : tensor<24xi32>, tensor<24xf32>, tensor<24xi32>, tensor<24xf32>) outs(%e : tensor<8x16x6x24xf32>) {
    ^bb0(%p: i32, %v: f32, %q: i32, %w: f32, %o: f32):
      %n = linalg.index 0 : index
      %c = linalg.index 1 : index
      %i = linalg.index 2 : index
      %j = arith.index_cast %p : i32 to index
      %k = arith.index_cast %q : i32 to index
      %a = tensor.extract %x[%n, %c, %i, %j] : tensor<8x16x6x5xf32>
      %b = tensor.extract %x[%n, %c, %i, %k] : tensor<8x16x6x5xf32>
      %s = arith.mulf %a, %v : f32
      %t = arith.mulf %b, %w : f32
      %u = arith.addf %s, %t : f32
      linalg.yield %u : f32
    } -> tensor<8x16x6x24xf32>
    return %y : tensor<8x16x6x24xf32>
  }
  func.func private @widen_vjp(%x: tensor<8x16x6x5xf32>, %y: tensor<8x16x6x24xf32>, %dy: tensor<8x16x6x24xf32>) -> tensor<8x16x6x5xf32> {
    %places = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 6, 6, 6], [2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [7, 8, 9, 10, 11, 12, 13, 14, 15, 16], [12, 13, 14, 15, 16, 17, 18, 19, 20, 21], [17, 18, 19, 20, 21, 22, 22, 23, 23, 23]]> : tensor<5x10xi32>
    %weights = arith.constant dense<[[1.000000, 1.000000, 0.979167, 0.770833, 0.562500, 0.354167, 0.145833, 0.000000, 0.000000, 0.000000], [0.020833, 0.229167, 0.437500, 0.645833, 0.854167, 0.937500, 0.729167, 0.520833, 0.312500, 0.104167], [0.062500, 0.270833, 0.479167, 0.687500, 0.895833, 0.895833, 0.687500, 0.479167, 0.270833, 0.062500], [0.104167, 0.312500, 0.520833, 0.729167, 0.937500, 0.854167, 0.645833, 0.437500, 0.229167, 0.020833], [0.145833, 0.354167, 0.562500, 0.770833, 0.979167, 0.812500, 0.187500, 0.604167, 0.395833, 0.000000]]> : tensor<5x10xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x16x6x5xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x6x5xf32>) -> tensor<8x16x6x5xf32>
    %dx = linalg.generic {indexing_maps = [affine_map<(n, c, i, j, k) -> (j, k)>, affine_map<(n, c, i, j, k) -> (j, k)>, affine_map<(n, c, i, j, k) -> (n, c, i, j)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%places, %weights : tensor<5x10xi32>, tensor<5x10xf32>) outs(%zeros : tensor<8x16x6x5xf32>) {
    ^bb0(%p: i32, %w: f32, %o: f32):
      %n = linalg.index 0 : index
      %c = linalg.index 1 : index
      %i = linalg.index 2 : index
      %k = arith.index_cast %p : i32 to index
      %a = tensor.extract %dy[%n, %c, %i, %k] : tensor<8x16x6x24xf32>
      %s = arith.mulf %a, %w : f32
      %u = arith.addf %o, %s : f32
      linalg.yield %u : f32
    } -> tensor<8x16x6x5xf32>
    return %dx : tensor<8x16x6x5xf32>
  }
  func.func @loss(%x: tensor<8x16x6x5xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %1 = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<8x16x6x5xf32>) -> tensor<8x16x6x24xf32> {
      %e = tensor.empty() : tensor<8x16x6x5xf32>
      %t = linalg.tanh ins(%a : tensor<8x16x6x5xf32>) outs(%e : tensor<8x16x6x5xf32>) -> tensor<8x16x6x5xf32>
      %w = func.call @widen(%t) : (tensor<8x16x6x5xf32>) -> tensor<8x16x6x24xf32>
      %f = tensor.empty() : tensor<8x16x6x24xf32>
      %y = linalg.exp ins(%w : tensor<8x16x6x24xf32>) outs(%f : tensor<8x16x6x24xf32>) -> tensor<8x16x6x24xf32>
      remat.yield %y : tensor<8x16x6x24xf32>
    }
    %2 = remat.region policy(#remat.dots_saveable) (%a = %1 : tensor<8x16x6x24xf32>) -> tensor<8x16x50xf32> {
      %zero = arith.constant 0.0 : f32
      %seven = arith.constant 7 : index
      %fifty = arith.constant 50 : index
      %e = tensor.empty() : tensor<8x16x50xf32>
      %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x50xf32>) -> tensor<8x16x50xf32>
      %flat = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<8x16x6x24xf32> into tensor<8x16x144xf32>
      %sums = remat.scatter_add ins(%flat : tensor<8x16x144xf32>) outs(%zeros : tensor<8x16x50xf32>) {
      ^bb0(%n: index, %c: index, %s: index):
        %far = arith.muli %s, %seven : index
        %moved = arith.addi %far, %n : index
        %at = arith.remui %moved, %fifty : index
        remat.yield %n, %c, %at : index, index, index
      } -> tensor<8x16x50xf32>
      %y = linalg.tanh ins(%sums : tensor<8x16x50xf32>) outs(%e : tensor<8x16x50xf32>) -> tensor<8x16x50xf32>
      remat.yield %y : tensor<8x16x50xf32>
    }
    %3 = remat.region policy(#remat.nothing_saveable) (%a = %1 : tensor<8x16x6x24xf32>) -> tensor<8x16x2x11xf32> {
      %low = arith.constant 0xFF800000 : f32
      %window = tensor.empty() : tensor<3x3xf32>
      %e = tensor.empty() : tensor<8x16x2x11xf32>
      %start = linalg.fill ins(%low : f32) outs(%e : tensor<8x16x2x11xf32>) -> tensor<8x16x2x11xf32>
      %y = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%a, %window : tensor<8x16x6x24xf32>, tensor<3x3xf32>)
          outs(%start : tensor<8x16x2x11xf32>) -> tensor<8x16x2x11xf32>
      remat.yield %y : tensor<8x16x2x11xf32>
    }
    %zero = arith.constant 0.0 : f32
    %s = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
    %first = linalg.generic {indexing_maps = [affine_map<(n, c, i) -> (n, c, i)>, affine_map<(n, c, i) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
        ins(%2 : tensor<8x16x50xf32>) outs(%start : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.mulf %v, %v : f32
      %u = arith.addf %o, %q : f32
      linalg.yield %u : f32
    } -> tensor<f32>
    %loss = linalg.generic {indexing_maps = [#id, affine_map<(n, c, i, j) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
        ins(%3 : tensor<8x16x2x11xf32>) outs(%first : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.mulf %v, %v : f32
      %u = arith.addf %o, %q : f32
      linalg.yield %u : f32
    } -> tensor<f32>
    return %loss : tensor<f32>
  }
}
