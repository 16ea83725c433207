// Products and other operations read a transposed weight in a region of a loop, and around the loop.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<48x48xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<48x48xf32>) outs(%0 : tensor<48x48xf32>) permutation = [1, 0] 
    %1 = tensor.empty() : tensor<48x48xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%transposed : tensor<48x48xf32>) outs(%1 : tensor<48x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = math.sin %in : f32
      linalg.yield %16 : f32
    } -> tensor<48x48xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %3 = tensor.empty() : tensor<8x48xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %5 = linalg.matmul ins(%arg1, %2 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%4 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %6 = scf.for %arg2 = %c0 to %c3 step %c1 iter_args(%arg3 = %5) -> (tensor<8x48xf32>) {
      %outputs = remat.region policy(#remat.dots_saveable) (%arg4 = %arg3 : tensor<8x48xf32>, %arg5 = %arg0 : tensor<48x48xf32>, %arg6 = %transposed : tensor<48x48xf32>) -> tensor<8x48xf32> {
        %cst_4 = arith.constant 0.000000e+00 : f32
        %19 = tensor.empty() : tensor<8x48xf32>
        %20 = linalg.fill ins(%cst_4 : f32) outs(%19 : tensor<8x48xf32>) -> tensor<8x48xf32>
        %21 = linalg.matmul ins(%arg4, %arg6 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%20 : tensor<8x48xf32>) -> tensor<8x48xf32>
        %22 = tensor.empty() : tensor<48x48xf32>
        %23 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg6 : tensor<48x48xf32>) outs(%22 : tensor<48x48xf32>) {
        ^bb0(%in: f32, %out: f32):
          %30 = math.sin %in : f32
          linalg.yield %30 : f32
        } -> tensor<48x48xf32>
        %cst_5 = arith.constant 0.000000e+00 : f32
        %24 = tensor.empty() : tensor<8x48xf32>
        %25 = linalg.fill ins(%cst_5 : f32) outs(%24 : tensor<8x48xf32>) -> tensor<8x48xf32>
        %26 = linalg.matmul ins(%21, %23 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%25 : tensor<8x48xf32>) -> tensor<8x48xf32>
        %cst_6 = arith.constant 0.000000e+00 : f32
        %27 = tensor.empty() : tensor<8x48xf32>
        %28 = linalg.fill ins(%cst_6 : f32) outs(%27 : tensor<8x48xf32>) -> tensor<8x48xf32>
        %29 = linalg.matmul ins(%26, %arg5 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%28 : tensor<8x48xf32>) -> tensor<8x48xf32>
        remat.yield %29 : tensor<8x48xf32>
      }
      %cst_3 = arith.constant 0.000000e+00 : f32
      %16 = tensor.empty() : tensor<8x48xf32>
      %17 = linalg.fill ins(%cst_3 : f32) outs(%16 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %18 = linalg.matmul ins(%outputs, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%17 : tensor<8x48xf32>) -> tensor<8x48xf32>
      scf.yield %18 : tensor<8x48xf32>
    }
    %cst_0 = arith.constant 0.000000e+00 : f32
    %7 = tensor.empty() : tensor<8x48xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %9 = linalg.matmul ins(%6, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%8 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %10 = tensor.empty() : tensor<8x48xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %12 = linalg.matmul ins(%9, %transposed : tensor<8x48xf32>, tensor<48x48xf32>) outs(%11 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %13 = tensor.empty() : tensor<f32>
    %14 = linalg.fill ins(%cst_2 : f32) outs(%13 : tensor<f32>) -> tensor<f32>
    %15 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%12 : tensor<8x48xf32>) outs(%14 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = math.sin %in : f32
      %17 = arith.addf %out, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<f32>
    return %15 : tensor<f32>
  }
}

