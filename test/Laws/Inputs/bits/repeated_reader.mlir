// A kernel that reads what another one made, and again in a region that takes it.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<48x48xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<48x48xf32>) outs(%0 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.tanh %in : f32
      linalg.yield %19 : f32
    } -> tensor<48x48xf32>
    %2 = tensor.empty() : tensor<48x48xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<48x48xf32>) outs(%2 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.sin %in : f32
      linalg.yield %19 : f32
    } -> tensor<48x48xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %4 = tensor.empty() : tensor<8x48xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %6 = linalg.matmul ins(%arg1, %3 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%5 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %7 = tensor.empty() : tensor<8x48xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %9 = linalg.matmul ins(%6, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%8 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %outputs = remat.region policy(#remat.dots_saveable) (%arg2 = %9 : tensor<8x48xf32>, %arg3 = %1 : tensor<48x48xf32>) -> tensor<8x48xf32> {
      %19 = tensor.empty() : tensor<48x48xf32>
      %20 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<48x48xf32>) outs(%19 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %24 = math.sin %in : f32
        linalg.yield %24 : f32
      } -> tensor<48x48xf32>
      %cst_4 = arith.constant 0.000000e+00 : f32
      %21 = tensor.empty() : tensor<8x48xf32>
      %22 = linalg.fill ins(%cst_4 : f32) outs(%21 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %23 = linalg.matmul ins(%arg2, %20 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%22 : tensor<8x48xf32>) -> tensor<8x48xf32>
      remat.yield %23 : tensor<8x48xf32>
    }
    %cst_1 = arith.constant 0.000000e+00 : f32
    %10 = tensor.empty() : tensor<8x48xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %12 = linalg.matmul ins(%outputs, %1 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%11 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %13 = tensor.empty() : tensor<8x48xf32>
    %14 = linalg.fill ins(%cst_2 : f32) outs(%13 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %15 = linalg.matmul ins(%12, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%14 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_3 = arith.constant 0.000000e+00 : f32
    %16 = tensor.empty() : tensor<f32>
    %17 = linalg.fill ins(%cst_3 : f32) outs(%16 : tensor<f32>) -> tensor<f32>
    %18 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%15 : tensor<8x48xf32>) outs(%17 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.sin %in : f32
      %20 = arith.addf %out, %19 : f32
      linalg.yield %20 : f32
    } -> tensor<f32>
    return %18 : tensor<f32>
  }
}

