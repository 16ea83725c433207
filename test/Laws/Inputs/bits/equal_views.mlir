// A transposition that a product reads in place, and an equal one in a region that something else reads: as one operation, which they are without the
// region, they stand where the second one is read.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<48x48xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<48x48xf32>) outs(%0 : tensor<48x48xf32>) permutation = [1, 0] 
    %cst = arith.constant 0.000000e+00 : f32
    %1 = tensor.empty() : tensor<8x48xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %3 = linalg.matmul ins(%arg1, %transposed : tensor<8x48xf32>, tensor<48x48xf32>) outs(%2 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %4 = tensor.empty() : tensor<8x48xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %6 = linalg.matmul ins(%3, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%5 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %outputs = remat.region policy(#remat.dots_saveable) (%arg2 = %6 : tensor<8x48xf32>, %arg3 = %arg0 : tensor<48x48xf32>) -> tensor<8x48xf32> {
      %10 = tensor.empty() : tensor<48x48xf32>
      %transposed_2 = linalg.transpose ins(%arg3 : tensor<48x48xf32>) outs(%10 : tensor<48x48xf32>) permutation = [1, 0] 
      %11 = tensor.empty() : tensor<48x48xf32>
      %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%transposed_2 : tensor<48x48xf32>) outs(%11 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %16 = math.sin %in : f32
        linalg.yield %16 : f32
      } -> tensor<48x48xf32>
      %cst_3 = arith.constant 0.000000e+00 : f32
      %13 = tensor.empty() : tensor<8x48xf32>
      %14 = linalg.fill ins(%cst_3 : f32) outs(%13 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %15 = linalg.matmul ins(%arg2, %12 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%14 : tensor<8x48xf32>) -> tensor<8x48xf32>
      remat.yield %15 : tensor<8x48xf32>
    }
    %cst_1 = arith.constant 0.000000e+00 : f32
    %7 = tensor.empty() : tensor<f32>
    %8 = linalg.fill ins(%cst_1 : f32) outs(%7 : tensor<f32>) -> tensor<f32>
    %9 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%outputs : tensor<8x48xf32>) outs(%8 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = math.sin %in : f32
      %11 = arith.addf %out, %10 : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    return %9 : tensor<f32>
  }
}

