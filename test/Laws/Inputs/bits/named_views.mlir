// Names of transposed weights, and of what is transposed back, which products and other operations read.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<48x48xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<48x48xf32>) outs(%0 : tensor<48x48xf32>) permutation = [1, 0] 
    %1 = remat.name "n" %transposed : tensor<48x48xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %2 = tensor.empty() : tensor<8x48xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %4 = linalg.matmul ins(%arg1, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%3 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %outputs:2 = remat.region policy(#remat.save_only_names<"m", "k">) (%arg2 = %4 : tensor<8x48xf32>, %arg3 = %arg0 : tensor<48x48xf32>, %arg4 = %1 : tensor<48x48xf32>) -> tensor<8x48xf32>, tensor<48x48xf32> {
      %19 = remat.name "m" %arg4 : tensor<48x48xf32>
      %cst_4 = arith.constant 0.000000e+00 : f32
      %20 = tensor.empty() : tensor<8x48xf32>
      %21 = linalg.fill ins(%cst_4 : f32) outs(%20 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %22 = linalg.matmul ins(%arg2, %19 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%21 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %cst_5 = arith.constant 0.000000e+00 : f32
      %23 = tensor.empty() : tensor<8x48xf32>
      %24 = linalg.fill ins(%cst_5 : f32) outs(%23 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %25 = linalg.matmul ins(%22, %arg3 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%24 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %26 = tensor.empty() : tensor<48x48xf32>
      %transposed_6 = linalg.transpose ins(%19 : tensor<48x48xf32>) outs(%26 : tensor<48x48xf32>) permutation = [1, 0] 
      %27 = tensor.empty() : tensor<48x48xf32>
      %28 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%transposed_6 : tensor<48x48xf32>) outs(%27 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %41 = math.sin %in : f32
        linalg.yield %41 : f32
      } -> tensor<48x48xf32>
      %cst_7 = arith.constant 0.000000e+00 : f32
      %29 = tensor.empty() : tensor<8x48xf32>
      %30 = linalg.fill ins(%cst_7 : f32) outs(%29 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %31 = linalg.matmul ins(%25, %28 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%30 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %32 = remat.name "k" %transposed_6 : tensor<48x48xf32>
      %cst_8 = arith.constant 0.000000e+00 : f32
      %33 = tensor.empty() : tensor<8x48xf32>
      %34 = linalg.fill ins(%cst_8 : f32) outs(%33 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %35 = linalg.matmul ins(%31, %32 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%34 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %36 = tensor.empty() : tensor<48x48xf32>
      %37 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%19 : tensor<48x48xf32>) outs(%36 : tensor<48x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %41 = math.sin %in : f32
        linalg.yield %41 : f32
      } -> tensor<48x48xf32>
      %cst_9 = arith.constant 0.000000e+00 : f32
      %38 = tensor.empty() : tensor<8x48xf32>
      %39 = linalg.fill ins(%cst_9 : f32) outs(%38 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %40 = linalg.matmul ins(%35, %37 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%39 : tensor<8x48xf32>) -> tensor<8x48xf32>
      remat.yield %40, %32 : tensor<8x48xf32>, tensor<48x48xf32>
    }
    %cst_0 = arith.constant 0.000000e+00 : f32
    %5 = tensor.empty() : tensor<8x48xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %7 = linalg.matmul ins(%outputs#0, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%6 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %8 = tensor.empty() : tensor<8x48xf32>
    %9 = linalg.fill ins(%cst_1 : f32) outs(%8 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %10 = linalg.matmul ins(%7, %outputs#1 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%9 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %11 = tensor.empty() : tensor<48x48xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<48x48xf32>) outs(%11 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.sin %in : f32
      linalg.yield %19 : f32
    } -> tensor<48x48xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %13 = tensor.empty() : tensor<8x48xf32>
    %14 = linalg.fill ins(%cst_2 : f32) outs(%13 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %15 = linalg.matmul ins(%10, %12 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%14 : tensor<8x48xf32>) -> tensor<8x48xf32>
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

