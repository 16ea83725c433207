// A region transposes back what was transposed outside.
#map = affine_map<(d0, d1) -> (d1, d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<48x48xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<48x48xf32>) outs(%0 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<48x48xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %2 = tensor.empty() : tensor<8x48xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %4 = linalg.matmul ins(%arg1, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%3 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %outputs = remat.region policy(#remat.dots_saveable) (%arg2 = %4 : tensor<8x48xf32>, %arg3 = %1 : tensor<48x48xf32>) -> tensor<8x48xf32> {
      %16 = tensor.empty() : tensor<48x48xf32>
      %17 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<48x48xf32>) outs(%16 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<48x48xf32>
      %cst_3 = arith.constant 0.000000e+00 : f32
      %18 = tensor.empty() : tensor<8x48xf32>
      %19 = linalg.fill ins(%cst_3 : f32) outs(%18 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %20 = linalg.matmul ins(%arg2, %arg3 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%19 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %21 = tensor.empty() : tensor<48x48xf32>
      %22 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<48x48xf32>) outs(%21 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %26 = math.sin %in : f32
        linalg.yield %26 : f32
      } -> tensor<48x48xf32>
      %cst_4 = arith.constant 0.000000e+00 : f32
      %23 = tensor.empty() : tensor<8x48xf32>
      %24 = linalg.fill ins(%cst_4 : f32) outs(%23 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %25 = linalg.matmul ins(%20, %22 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%24 : tensor<8x48xf32>) -> tensor<8x48xf32>
      remat.yield %25 : tensor<8x48xf32>
    }
    %cst_0 = arith.constant 0.000000e+00 : f32
    %5 = tensor.empty() : tensor<8x48xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %7 = linalg.matmul ins(%outputs, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%6 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %8 = tensor.empty() : tensor<48x48xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<48x48xf32>) outs(%8 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = math.sin %in : f32
      linalg.yield %16 : f32
    } -> tensor<48x48xf32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %10 = tensor.empty() : tensor<8x48xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %12 = linalg.matmul ins(%7, %9 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%11 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %13 = tensor.empty() : tensor<f32>
    %14 = linalg.fill ins(%cst_2 : f32) outs(%13 : tensor<f32>) -> tensor<f32>
    %15 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["reduction", "reduction"]} ins(%12 : tensor<8x48xf32>) outs(%14 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = math.sin %in : f32
      %17 = arith.addf %out, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<f32>
    return %15 : tensor<f32>
  }
}

