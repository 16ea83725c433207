// The transposition of a region is read after it, by a product and by other operations.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %outputs:3 = remat.region policy(#remat.dots_saveable) (%arg2 = %arg0 : tensor<48x48xf32>, %arg3 = %arg1 : tensor<8x48xf32>) -> tensor<48x48xf32>, tensor<8x48xf32>, tensor<48x48xf32> {
      %17 = tensor.empty() : tensor<48x48xf32>
      %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<48x48xf32>) outs(%17 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %23 = math.sin %in : f32
        linalg.yield %23 : f32
      } -> tensor<48x48xf32>
      %cst_4 = arith.constant 0.000000e+00 : f32
      %19 = tensor.empty() : tensor<8x48xf32>
      %20 = linalg.fill ins(%cst_4 : f32) outs(%19 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %21 = linalg.matmul ins(%arg3, %18 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%20 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %22 = tensor.empty() : tensor<48x48xf32>
      %transposed = linalg.transpose ins(%18 : tensor<48x48xf32>) outs(%22 : tensor<48x48xf32>) permutation = [1, 0] 
      remat.yield %transposed, %21, %18 : tensor<48x48xf32>, tensor<8x48xf32>, tensor<48x48xf32>
    }
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<8x48xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %2 = linalg.matmul ins(%outputs#1, %outputs#2 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%1 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %3 = tensor.empty() : tensor<8x48xf32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %5 = linalg.matmul ins(%2, %outputs#0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%4 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %6 = tensor.empty() : tensor<8x48xf32>
    %7 = linalg.fill ins(%cst_1 : f32) outs(%6 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %8 = linalg.matmul ins(%5, %outputs#2 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%7 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %9 = tensor.empty() : tensor<48x48xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%outputs#0 : tensor<48x48xf32>) outs(%9 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = math.sin %in : f32
      linalg.yield %17 : f32
    } -> tensor<48x48xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %11 = tensor.empty() : tensor<8x48xf32>
    %12 = linalg.fill ins(%cst_2 : f32) outs(%11 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %13 = linalg.matmul ins(%8, %10 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%12 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_3 = arith.constant 0.000000e+00 : f32
    %14 = tensor.empty() : tensor<f32>
    %15 = linalg.fill ins(%cst_3 : f32) outs(%14 : tensor<f32>) -> tensor<f32>
    %16 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%13 : tensor<8x48xf32>) outs(%15 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = math.sin %in : f32
      %18 = arith.addf %out, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<f32>
    return %16 : tensor<f32>
  }
}

