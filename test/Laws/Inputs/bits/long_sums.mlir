// Sums of so many elements that they run in chunks: over rows for a gradient, over all for the loss, in regions and after them, by kernels
// of several operations and by one.
opt.optimizer @optimizer = #opt.sgd<lr = 1.0e-04>
remat.train_step @step for @loss optimizer(@optimizer)
func.func @loss(%x: tensor<9000x6xf32> {remat.data = "x"}, %w: tensor<6xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %v: tensor<6xf32> {opt.param = "v", opt.init = "normal(0.5)"}) -> (tensor<f32> {remat.loss}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9000x6xf32>
  %wide = linalg.broadcast ins(%w : tensor<6xf32>) outs(%e : tensor<9000x6xf32>) dimensions = [0]
  %h = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<9000x6xf32>, %b = %wide : tensor<9000x6xf32>, %c = %v : tensor<6xf32>) -> tensor<9000x6xf32> {
    %f = tensor.empty() : tensor<9000x6xf32>
    %0 = arith.mulf %a, %b : tensor<9000x6xf32>
    %1 = math.tanh %0 : tensor<9000x6xf32>
    %2 = remat.name "t" %1 : tensor<9000x6xf32>
    %3 = linalg.broadcast ins(%c : tensor<6xf32>) outs(%f : tensor<9000x6xf32>) dimensions = [0]
    %4 = arith.addf %2, %3 : tensor<9000x6xf32>
    %5 = math.sin %4 : tensor<9000x6xf32>
    remat.yield %5 : tensor<9000x6xf32>
  }
  %y0 = tensor.empty() : tensor<6xf32>
  %y1 = linalg.fill ins(%z : f32) outs(%y0 : tensor<6xf32>) -> tensor<6xf32>
  %columns = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%h : tensor<9000x6xf32>) outs(%y1 : tensor<6xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<6xf32>
  %count = arith.constant dense<9.0e+03> : tensor<6xf32>
  %means = arith.divf %columns, %count : tensor<6xf32>
  %centers = linalg.broadcast ins(%means : tensor<6xf32>) outs(%e : tensor<9000x6xf32>) dimensions = [0]
  %centered = arith.subf %h, %centers : tensor<9000x6xf32>
  %scaled = arith.mulf %centered, %wide : tensor<9000x6xf32>
  %l0 = tensor.empty() : tensor<f32>
  %l1 = linalg.fill ins(%z : f32) outs(%l0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%scaled : tensor<9000x6xf32>) outs(%l1 : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    %sq = arith.mulf %p, %p : f32
    %sum = arith.addf %acc, %sq : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
