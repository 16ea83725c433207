// A weight that is broadcast for a batch of products: outside of the region that multiplies by it, and read by another operation, too.
#map = affine_map<(d0, d1, d2) -> (d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2, d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> ()>
module {
  opt.optimizer @sgd = #opt.sgd<lr = 2.000000e-03>
  remat.train_step @step for @loss optimizer(@sgd) {eager, log_every = 1 : i64, steps = 3 : i64}
  func.func @loss(%arg0: tensor<48x48xf32> {opt.init = "normal(0.12)", opt.param = "w"}, %arg1: tensor<8x48xf32> {opt.init = "normal(0.5)", opt.param = "x"}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<3x48x48xf32>
    %broadcasted = linalg.broadcast ins(%arg0 : tensor<48x48xf32>) outs(%0 : tensor<3x48x48xf32>) dimensions = [0] 
    %1 = tensor.empty() : tensor<3x8x48xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<8x48xf32>) outs(%1 : tensor<3x8x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = linalg.index 0 : index
      %24 = arith.index_cast %23 : index to i32
      %25 = arith.sitofp %24 : i32 to f32
      %26 = arith.addf %25, %in : f32
      linalg.yield %26 : f32
    } -> tensor<3x8x48xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %3 = tensor.empty() : tensor<8x48xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %5 = linalg.matmul ins(%arg1, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%4 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %outputs = remat.region policy(#remat.dots_saveable) (%arg2 = %5 : tensor<8x48xf32>, %arg3 = %broadcasted : tensor<3x48x48xf32>, %arg4 = %2 : tensor<3x8x48xf32>) -> tensor<8x48xf32> {
      %cst_5 = arith.constant 0.000000e+00 : f32
      %23 = tensor.empty() : tensor<3x8x48xf32>
      %24 = linalg.fill ins(%cst_5 : f32) outs(%23 : tensor<3x8x48xf32>) -> tensor<3x8x48xf32>
      %25 = linalg.batch_matmul ins(%arg4, %arg3 : tensor<3x8x48xf32>, tensor<3x48x48xf32>) outs(%24 : tensor<3x8x48xf32>) -> tensor<3x8x48xf32>
      %cst_6 = arith.constant 0.000000e+00 : f32
      %26 = tensor.empty() : tensor<8x48xf32>
      %27 = linalg.fill ins(%cst_6 : f32) outs(%26 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %28 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%25 : tensor<3x8x48xf32>) outs(%27 : tensor<8x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %41 = math.sin %in : f32
        %42 = arith.addf %out, %41 : f32
        linalg.yield %42 : f32
      } -> tensor<8x48xf32>
      %29 = tensor.empty() : tensor<3x48x48xf32>
      %30 = linalg.sub ins(%arg3, %arg3 : tensor<3x48x48xf32>, tensor<3x48x48xf32>) outs(%29 : tensor<3x48x48xf32>) -> tensor<3x48x48xf32>
      %cst_7 = arith.constant 0.000000e+00 : f32
      %31 = tensor.empty() : tensor<3x8x48xf32>
      %32 = linalg.fill ins(%cst_7 : f32) outs(%31 : tensor<3x8x48xf32>) -> tensor<3x8x48xf32>
      %33 = linalg.batch_matmul ins(%arg4, %30 : tensor<3x8x48xf32>, tensor<3x48x48xf32>) outs(%32 : tensor<3x8x48xf32>) -> tensor<3x8x48xf32>
      %cst_8 = arith.constant 0.000000e+00 : f32
      %34 = tensor.empty() : tensor<8x48xf32>
      %35 = linalg.fill ins(%cst_8 : f32) outs(%34 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %36 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%33 : tensor<3x8x48xf32>) outs(%35 : tensor<8x48xf32>) {
      ^bb0(%in: f32, %out: f32):
        %41 = math.sin %in : f32
        %42 = arith.addf %out, %41 : f32
        linalg.yield %42 : f32
      } -> tensor<8x48xf32>
      %37 = tensor.empty() : tensor<8x48xf32>
      %38 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%28, %36 : tensor<8x48xf32>, tensor<8x48xf32>) outs(%37 : tensor<8x48xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %41 = math.sin %in : f32
        %42 = arith.addf %41, %in_9 : f32
        linalg.yield %42 : f32
      } -> tensor<8x48xf32>
      %39 = tensor.empty() : tensor<8x48xf32>
      %40 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%arg2, %38 : tensor<8x48xf32>, tensor<8x48xf32>) outs(%39 : tensor<8x48xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %41 = math.sin %in : f32
        %42 = arith.addf %41, %in_9 : f32
        linalg.yield %42 : f32
      } -> tensor<8x48xf32>
      remat.yield %40 : tensor<8x48xf32>
    }
    %cst_0 = arith.constant 0.000000e+00 : f32
    %6 = tensor.empty() : tensor<8x48xf32>
    %7 = linalg.fill ins(%cst_0 : f32) outs(%6 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %8 = linalg.matmul ins(%outputs, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%7 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %9 = tensor.empty() : tensor<3x8x48xf32>
    %10 = linalg.fill ins(%cst_1 : f32) outs(%9 : tensor<3x8x48xf32>) -> tensor<3x8x48xf32>
    %11 = linalg.batch_matmul ins(%2, %broadcasted : tensor<3x8x48xf32>, tensor<3x48x48xf32>) outs(%10 : tensor<3x8x48xf32>) -> tensor<3x8x48xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %12 = tensor.empty() : tensor<8x48xf32>
    %13 = linalg.fill ins(%cst_2 : f32) outs(%12 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %14 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%11 : tensor<3x8x48xf32>) outs(%13 : tensor<8x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = math.sin %in : f32
      %24 = arith.addf %out, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<8x48xf32>
    %15 = tensor.empty() : tensor<8x48xf32>
    %16 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%8, %14 : tensor<8x48xf32>, tensor<8x48xf32>) outs(%15 : tensor<8x48xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %23 = math.sin %in : f32
      %24 = arith.addf %23, %in_5 : f32
      linalg.yield %24 : f32
    } -> tensor<8x48xf32>
    %cst_3 = arith.constant 0.000000e+00 : f32
    %17 = tensor.empty() : tensor<8x48xf32>
    %18 = linalg.fill ins(%cst_3 : f32) outs(%17 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %19 = linalg.matmul ins(%16, %arg0 : tensor<8x48xf32>, tensor<48x48xf32>) outs(%18 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %cst_4 = arith.constant 0.000000e+00 : f32
    %20 = tensor.empty() : tensor<f32>
    %21 = linalg.fill ins(%cst_4 : f32) outs(%20 : tensor<f32>) -> tensor<f32>
    %22 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["reduction", "reduction"]} ins(%19 : tensor<8x48xf32>) outs(%21 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = math.sin %in : f32
      %24 = arith.addf %out, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<f32>
    return %22 : tensor<f32>
  }
}

