#loc1 = loc("root")
#loc2 = loc("layers.0.norm")
#loc3 = loc("embed")
#loc4 = loc("layers.0.up")
#loc5 = loc("layers.0")
#loc6 = loc("layers.0.down")
#loc7 = loc("layers.1.norm")
#loc8 = loc("layers.1.up")
#loc9 = loc("layers.1")
#loc10 = loc("layers.1.down")
#loc11 = loc("layers.2.norm")
#loc12 = loc("layers.2.up")
#loc13 = loc("layers.2")
#loc14 = loc("layers.2.down")
#loc15 = loc("head")
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> ()>
#map4 = affine_map<() -> ()>
module {
  func.func @loss(%arg0: tensor<8x6xf32> {opt.param = "embed.weight"} loc("root"), %arg1: tensor<8xf32> {opt.param = "embed.bias"} loc("root"), %arg2: tensor<8xf32> {opt.param = "layers.0.norm.weight"} loc("root"), %arg3: tensor<8xf32> {opt.param = "layers.0.norm.bias"} loc("root"), %arg4: tensor<32x8xf32> {opt.param = "layers.0.up.weight"} loc("root"), %arg5: tensor<32xf32> {opt.param = "layers.0.up.bias"} loc("root"), %arg6: tensor<8x32xf32> {opt.param = "layers.0.down.weight"} loc("root"), %arg7: tensor<8xf32> {opt.param = "layers.0.down.bias"} loc("root"), %arg8: tensor<8xf32> {opt.param = "layers.1.norm.weight"} loc("root"), %arg9: tensor<8xf32> {opt.param = "layers.1.norm.bias"} loc("root"), %arg10: tensor<32x8xf32> {opt.param = "layers.1.up.weight"} loc("root"), %arg11: tensor<32xf32> {opt.param = "layers.1.up.bias"} loc("root"), %arg12: tensor<8x32xf32> {opt.param = "layers.1.down.weight"} loc("root"), %arg13: tensor<8xf32> {opt.param = "layers.1.down.bias"} loc("root"), %arg14: tensor<8xf32> {opt.param = "layers.2.norm.weight"} loc("root"), %arg15: tensor<8xf32> {opt.param = "layers.2.norm.bias"} loc("root"), %arg16: tensor<32x8xf32> {opt.param = "layers.2.up.weight"} loc("root"), %arg17: tensor<32xf32> {opt.param = "layers.2.up.bias"} loc("root"), %arg18: tensor<8x32xf32> {opt.param = "layers.2.down.weight"} loc("root"), %arg19: tensor<8xf32> {opt.param = "layers.2.down.bias"} loc("root"), %arg20: tensor<1x8xf32> {opt.param = "head.weight"} loc("root"), %arg21: tensor<1xf32> {opt.param = "head.bias"} loc("root"), %arg22: tensor<16x6xf32> {remat.data = "x"} loc("root"), %arg23: tensor<16x1xf32> {remat.data = "y"} loc("root")) -> tensor<f32> {
    %c2_i64 = arith.constant 2 : i64 loc(#loc1)
    %cst = arith.constant 0.000000e+00 : f32 loc(#loc)
    %cst_0 = arith.constant 0.000000e+00 : f64 loc(#loc)
    %cst_1 = arith.constant 1.000000e+00 : f32 loc(#loc)
    %cst_2 = arith.constant 5.000000e-01 : f32 loc(#loc)
    %cst_3 = arith.constant 1.000000e-05 : f64 loc(#loc2)
    %cst_4 = arith.constant 8.000000e+00 : f64 loc(#loc)
    %cst_5 = arith.constant 8.000000e+00 : f32 loc(#loc)
    %cst_6 = arith.constant 1.41421354 : f32 loc(#loc)
    %cst_7 = arith.constant 1.600000e+01 : f32 loc(#loc)
    %0 = tensor.empty() : tensor<6x8xf32> loc(#loc3)
    %transposed = linalg.transpose ins(%arg0 : tensor<8x6xf32>) outs(%0 : tensor<6x8xf32>) permutation = [1, 0]  loc(#loc3)
    %1 = tensor.empty() : tensor<16x8xf32> loc(#loc3)
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<16x8xf32>) -> tensor<16x8xf32> loc(#loc3)
    %3 = linalg.matmul ins(%arg22, %transposed : tensor<16x6xf32>, tensor<6x8xf32>) outs(%2 : tensor<16x8xf32>) -> tensor<16x8xf32> loc(#loc3)
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %arg1 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("embed"), %in_15: f32 loc("embed"), %out: f32 loc("embed")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc3)
      linalg.yield %89 : f32 loc(#loc3)
    } -> tensor<16x8xf32> loc(#loc3)
    %5 = tensor.empty() : tensor<16x8xf64> loc(#loc2)
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<16x8xf32>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f32 loc("embed"), %out: f64 loc("layers.0.norm")):
      %89 = arith.extf %in : f32 to f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x8xf64> loc(#loc2)
    %7 = tensor.empty() : tensor<16x1xf64> loc(#loc2)
    %8 = linalg.fill ins(%cst_0 : f64) outs(%7 : tensor<16x1xf64>) -> tensor<16x1xf64> loc(#loc2)
    %9 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<16x8xf64>) outs(%8 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %out: f64 loc("layers.0.norm")):
      %89 = arith.addf %in, %out : f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x1xf64> loc(#loc2)
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<16x1xf64>) outs(%7 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %out: f64 loc("layers.0.norm")):
      %89 = arith.divf %in, %cst_4 : f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x1xf64> loc(#loc2)
    %11 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%6, %10 : tensor<16x8xf64>, tensor<16x1xf64>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %in_15: f64 loc("layers.0.norm"), %out: f64 loc("layers.0.norm")):
      %89 = arith.subf %in, %in_15 : f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x8xf64> loc(#loc2)
    %12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%11, %11 : tensor<16x8xf64>, tensor<16x8xf64>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %in_15: f64 loc("layers.0.norm"), %out: f64 loc("layers.0.norm")):
      %89 = arith.mulf %in, %in_15 : f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x8xf64> loc(#loc2)
    %13 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%12 : tensor<16x8xf64>) outs(%8 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %out: f64 loc("layers.0.norm")):
      %89 = arith.addf %in, %out : f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x1xf64> loc(#loc2)
    %14 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<16x1xf64>) outs(%7 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %out: f64 loc("layers.0.norm")):
      %89 = arith.divf %in, %cst_4 : f64 loc(#loc2)
      linalg.yield %89 : f64 loc(#loc2)
    } -> tensor<16x1xf64> loc(#loc2)
    %15 = tensor.empty() : tensor<16x1xf32> loc(#loc2)
    %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<16x1xf64>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f64 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.truncf %in : f64 to f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x1xf32> loc(#loc2)
    %17 = linalg.fill ins(%cst : f32) outs(%15 : tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc2)
    %18 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%4 : tensor<16x8xf32>) outs(%17 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("embed"), %out: f32 loc("layers.0.norm")):
      %89 = arith.addf %in, %out : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x1xf32> loc(#loc2)
    %19 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.divf %in, %cst_5 : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x1xf32> loc(#loc2)
    %20 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.truncf %cst_3 : f64 to f32 loc(#loc2)
      %90 = arith.addf %in, %89 : f32 loc(#loc2)
      linalg.yield %90 : f32 loc(#loc2)
    } -> tensor<16x1xf32> loc(#loc2)
    %21 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = math.rsqrt %in : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x1xf32> loc(#loc2)
    %22 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %19 : tensor<16x8xf32>, tensor<16x1xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("embed"), %in_15: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.subf %in, %in_15 : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x8xf32> loc(#loc2)
    %23 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%22, %21 : tensor<16x8xf32>, tensor<16x1xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.0.norm"), %in_15: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.mulf %in, %in_15 : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x8xf32> loc(#loc2)
    %24 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%23, %arg2 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.0.norm"), %in_15: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.mulf %in, %in_15 : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x8xf32> loc(#loc2)
    %25 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%24, %arg3 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.0.norm"), %in_15: f32 loc("layers.0.norm"), %out: f32 loc("layers.0.norm")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc2)
      linalg.yield %89 : f32 loc(#loc2)
    } -> tensor<16x8xf32> loc(#loc2)
    %26 = tensor.empty() : tensor<8x32xf32> loc(#loc4)
    %transposed_8 = linalg.transpose ins(%arg4 : tensor<32x8xf32>) outs(%26 : tensor<8x32xf32>) permutation = [1, 0]  loc(#loc4)
    %27 = tensor.empty() : tensor<16x32xf32> loc(#loc4)
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<16x32xf32>) -> tensor<16x32xf32> loc(#loc4)
    %29 = linalg.matmul ins(%25, %transposed_8 : tensor<16x8xf32>, tensor<8x32xf32>) outs(%28 : tensor<16x32xf32>) -> tensor<16x32xf32> loc(#loc4)
    %30 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%29, %arg5 : tensor<16x32xf32>, tensor<32xf32>) outs(%27 : tensor<16x32xf32>) {
    ^bb0(%in: f32 loc("layers.0.up"), %in_15: f32 loc("layers.0.up"), %out: f32 loc("layers.0.up")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc4)
      linalg.yield %89 : f32 loc(#loc4)
    } -> tensor<16x32xf32> loc(#loc4)
    %31 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<16x32xf32>) outs(%27 : tensor<16x32xf32>) {
    ^bb0(%in: f32 loc("layers.0.up"), %out: f32 loc("layers.0")):
      %89 = arith.divf %in, %cst_6 : f32 loc(#loc5)
      %90 = math.erf %89 : f32 loc(#loc5)
      %91 = arith.addf %90, %cst_1 : f32 loc(#loc5)
      %92 = arith.mulf %91, %cst_2 : f32 loc(#loc5)
      %93 = arith.mulf %in, %92 : f32 loc(#loc5)
      linalg.yield %93 : f32 loc(#loc5)
    } -> tensor<16x32xf32> loc(#loc5)
    %32 = tensor.empty() : tensor<32x8xf32> loc(#loc6)
    %transposed_9 = linalg.transpose ins(%arg6 : tensor<8x32xf32>) outs(%32 : tensor<32x8xf32>) permutation = [1, 0]  loc(#loc6)
    %33 = linalg.matmul ins(%31, %transposed_9 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%2 : tensor<16x8xf32>) -> tensor<16x8xf32> loc(#loc6)
    %34 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%33, %arg7 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.0.down"), %in_15: f32 loc("layers.0.down"), %out: f32 loc("layers.0.down")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc6)
      linalg.yield %89 : f32 loc(#loc6)
    } -> tensor<16x8xf32> loc(#loc6)
    %35 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %34 : tensor<16x8xf32>, tensor<16x8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("embed"), %in_15: f32 loc("layers.0.down"), %out: f32 loc("layers.0")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc5)
      linalg.yield %89 : f32 loc(#loc5)
    } -> tensor<16x8xf32> loc(#loc5)
    %36 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%35 : tensor<16x8xf32>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f32 loc("layers.0"), %out: f64 loc("layers.1.norm")):
      %89 = arith.extf %in : f32 to f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x8xf64> loc(#loc7)
    %37 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%36 : tensor<16x8xf64>) outs(%8 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %out: f64 loc("layers.1.norm")):
      %89 = arith.addf %in, %out : f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x1xf64> loc(#loc7)
    %38 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%37 : tensor<16x1xf64>) outs(%7 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %out: f64 loc("layers.1.norm")):
      %89 = arith.divf %in, %cst_4 : f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x1xf64> loc(#loc7)
    %39 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%36, %38 : tensor<16x8xf64>, tensor<16x1xf64>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %in_15: f64 loc("layers.1.norm"), %out: f64 loc("layers.1.norm")):
      %89 = arith.subf %in, %in_15 : f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x8xf64> loc(#loc7)
    %40 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%39, %39 : tensor<16x8xf64>, tensor<16x8xf64>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %in_15: f64 loc("layers.1.norm"), %out: f64 loc("layers.1.norm")):
      %89 = arith.mulf %in, %in_15 : f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x8xf64> loc(#loc7)
    %41 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%40 : tensor<16x8xf64>) outs(%8 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %out: f64 loc("layers.1.norm")):
      %89 = arith.addf %in, %out : f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x1xf64> loc(#loc7)
    %42 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%41 : tensor<16x1xf64>) outs(%7 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %out: f64 loc("layers.1.norm")):
      %89 = arith.divf %in, %cst_4 : f64 loc(#loc7)
      linalg.yield %89 : f64 loc(#loc7)
    } -> tensor<16x1xf64> loc(#loc7)
    %43 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%42 : tensor<16x1xf64>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f64 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.truncf %in : f64 to f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x1xf32> loc(#loc7)
    %44 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%35 : tensor<16x8xf32>) outs(%17 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.0"), %out: f32 loc("layers.1.norm")):
      %89 = arith.addf %in, %out : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x1xf32> loc(#loc7)
    %45 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%44 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.divf %in, %cst_5 : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x1xf32> loc(#loc7)
    %46 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%43 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.truncf %cst_3 : f64 to f32 loc(#loc7)
      %90 = arith.addf %in, %89 : f32 loc(#loc7)
      linalg.yield %90 : f32 loc(#loc7)
    } -> tensor<16x1xf32> loc(#loc7)
    %47 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%46 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = math.rsqrt %in : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x1xf32> loc(#loc7)
    %48 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%35, %45 : tensor<16x8xf32>, tensor<16x1xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.0"), %in_15: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.subf %in, %in_15 : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x8xf32> loc(#loc7)
    %49 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%48, %47 : tensor<16x8xf32>, tensor<16x1xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.1.norm"), %in_15: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.mulf %in, %in_15 : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x8xf32> loc(#loc7)
    %50 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%49, %arg8 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.1.norm"), %in_15: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.mulf %in, %in_15 : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x8xf32> loc(#loc7)
    %51 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%50, %arg9 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.1.norm"), %in_15: f32 loc("layers.1.norm"), %out: f32 loc("layers.1.norm")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc7)
      linalg.yield %89 : f32 loc(#loc7)
    } -> tensor<16x8xf32> loc(#loc7)
    %transposed_10 = linalg.transpose ins(%arg10 : tensor<32x8xf32>) outs(%26 : tensor<8x32xf32>) permutation = [1, 0]  loc(#loc8)
    %52 = linalg.matmul ins(%51, %transposed_10 : tensor<16x8xf32>, tensor<8x32xf32>) outs(%28 : tensor<16x32xf32>) -> tensor<16x32xf32> loc(#loc8)
    %53 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%52, %arg11 : tensor<16x32xf32>, tensor<32xf32>) outs(%27 : tensor<16x32xf32>) {
    ^bb0(%in: f32 loc("layers.1.up"), %in_15: f32 loc("layers.1.up"), %out: f32 loc("layers.1.up")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc8)
      linalg.yield %89 : f32 loc(#loc8)
    } -> tensor<16x32xf32> loc(#loc8)
    %54 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%53 : tensor<16x32xf32>) outs(%27 : tensor<16x32xf32>) {
    ^bb0(%in: f32 loc("layers.1.up"), %out: f32 loc("layers.1")):
      %89 = arith.divf %in, %cst_6 : f32 loc(#loc9)
      %90 = math.erf %89 : f32 loc(#loc9)
      %91 = arith.addf %90, %cst_1 : f32 loc(#loc9)
      %92 = arith.mulf %91, %cst_2 : f32 loc(#loc9)
      %93 = arith.mulf %in, %92 : f32 loc(#loc9)
      linalg.yield %93 : f32 loc(#loc9)
    } -> tensor<16x32xf32> loc(#loc9)
    %transposed_11 = linalg.transpose ins(%arg12 : tensor<8x32xf32>) outs(%32 : tensor<32x8xf32>) permutation = [1, 0]  loc(#loc10)
    %55 = linalg.matmul ins(%54, %transposed_11 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%2 : tensor<16x8xf32>) -> tensor<16x8xf32> loc(#loc10)
    %56 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%55, %arg13 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.1.down"), %in_15: f32 loc("layers.1.down"), %out: f32 loc("layers.1.down")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc10)
      linalg.yield %89 : f32 loc(#loc10)
    } -> tensor<16x8xf32> loc(#loc10)
    %57 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%35, %56 : tensor<16x8xf32>, tensor<16x8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.0"), %in_15: f32 loc("layers.1.down"), %out: f32 loc("layers.1")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc9)
      linalg.yield %89 : f32 loc(#loc9)
    } -> tensor<16x8xf32> loc(#loc9)
    %58 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%57 : tensor<16x8xf32>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f32 loc("layers.1"), %out: f64 loc("layers.2.norm")):
      %89 = arith.extf %in : f32 to f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x8xf64> loc(#loc11)
    %59 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%58 : tensor<16x8xf64>) outs(%8 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %out: f64 loc("layers.2.norm")):
      %89 = arith.addf %in, %out : f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x1xf64> loc(#loc11)
    %60 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%59 : tensor<16x1xf64>) outs(%7 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %out: f64 loc("layers.2.norm")):
      %89 = arith.divf %in, %cst_4 : f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x1xf64> loc(#loc11)
    %61 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%58, %60 : tensor<16x8xf64>, tensor<16x1xf64>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %in_15: f64 loc("layers.2.norm"), %out: f64 loc("layers.2.norm")):
      %89 = arith.subf %in, %in_15 : f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x8xf64> loc(#loc11)
    %62 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%61, %61 : tensor<16x8xf64>, tensor<16x8xf64>) outs(%5 : tensor<16x8xf64>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %in_15: f64 loc("layers.2.norm"), %out: f64 loc("layers.2.norm")):
      %89 = arith.mulf %in, %in_15 : f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x8xf64> loc(#loc11)
    %63 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%62 : tensor<16x8xf64>) outs(%8 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %out: f64 loc("layers.2.norm")):
      %89 = arith.addf %in, %out : f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x1xf64> loc(#loc11)
    %64 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%63 : tensor<16x1xf64>) outs(%7 : tensor<16x1xf64>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %out: f64 loc("layers.2.norm")):
      %89 = arith.divf %in, %cst_4 : f64 loc(#loc11)
      linalg.yield %89 : f64 loc(#loc11)
    } -> tensor<16x1xf64> loc(#loc11)
    %65 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%64 : tensor<16x1xf64>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f64 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.truncf %in : f64 to f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x1xf32> loc(#loc11)
    %66 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%57 : tensor<16x8xf32>) outs(%17 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.1"), %out: f32 loc("layers.2.norm")):
      %89 = arith.addf %in, %out : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x1xf32> loc(#loc11)
    %67 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%66 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.divf %in, %cst_5 : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x1xf32> loc(#loc11)
    %68 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%65 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.truncf %cst_3 : f64 to f32 loc(#loc11)
      %90 = arith.addf %in, %89 : f32 loc(#loc11)
      linalg.yield %90 : f32 loc(#loc11)
    } -> tensor<16x1xf32> loc(#loc11)
    %69 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%68 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = math.rsqrt %in : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x1xf32> loc(#loc11)
    %70 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%57, %67 : tensor<16x8xf32>, tensor<16x1xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.1"), %in_15: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.subf %in, %in_15 : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x8xf32> loc(#loc11)
    %71 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%70, %69 : tensor<16x8xf32>, tensor<16x1xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.2.norm"), %in_15: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.mulf %in, %in_15 : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x8xf32> loc(#loc11)
    %72 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%71, %arg14 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.2.norm"), %in_15: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.mulf %in, %in_15 : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x8xf32> loc(#loc11)
    %73 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%72, %arg15 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.2.norm"), %in_15: f32 loc("layers.2.norm"), %out: f32 loc("layers.2.norm")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc11)
      linalg.yield %89 : f32 loc(#loc11)
    } -> tensor<16x8xf32> loc(#loc11)
    %transposed_12 = linalg.transpose ins(%arg16 : tensor<32x8xf32>) outs(%26 : tensor<8x32xf32>) permutation = [1, 0]  loc(#loc12)
    %74 = linalg.matmul ins(%73, %transposed_12 : tensor<16x8xf32>, tensor<8x32xf32>) outs(%28 : tensor<16x32xf32>) -> tensor<16x32xf32> loc(#loc12)
    %75 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%74, %arg17 : tensor<16x32xf32>, tensor<32xf32>) outs(%27 : tensor<16x32xf32>) {
    ^bb0(%in: f32 loc("layers.2.up"), %in_15: f32 loc("layers.2.up"), %out: f32 loc("layers.2.up")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc12)
      linalg.yield %89 : f32 loc(#loc12)
    } -> tensor<16x32xf32> loc(#loc12)
    %76 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%75 : tensor<16x32xf32>) outs(%27 : tensor<16x32xf32>) {
    ^bb0(%in: f32 loc("layers.2.up"), %out: f32 loc("layers.2")):
      %89 = arith.divf %in, %cst_6 : f32 loc(#loc13)
      %90 = math.erf %89 : f32 loc(#loc13)
      %91 = arith.addf %90, %cst_1 : f32 loc(#loc13)
      %92 = arith.mulf %91, %cst_2 : f32 loc(#loc13)
      %93 = arith.mulf %in, %92 : f32 loc(#loc13)
      linalg.yield %93 : f32 loc(#loc13)
    } -> tensor<16x32xf32> loc(#loc13)
    %transposed_13 = linalg.transpose ins(%arg18 : tensor<8x32xf32>) outs(%32 : tensor<32x8xf32>) permutation = [1, 0]  loc(#loc14)
    %77 = linalg.matmul ins(%76, %transposed_13 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%2 : tensor<16x8xf32>) -> tensor<16x8xf32> loc(#loc14)
    %78 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%77, %arg19 : tensor<16x8xf32>, tensor<8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.2.down"), %in_15: f32 loc("layers.2.down"), %out: f32 loc("layers.2.down")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc14)
      linalg.yield %89 : f32 loc(#loc14)
    } -> tensor<16x8xf32> loc(#loc14)
    %79 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%57, %78 : tensor<16x8xf32>, tensor<16x8xf32>) outs(%1 : tensor<16x8xf32>) {
    ^bb0(%in: f32 loc("layers.1"), %in_15: f32 loc("layers.2.down"), %out: f32 loc("layers.2")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc13)
      linalg.yield %89 : f32 loc(#loc13)
    } -> tensor<16x8xf32> loc(#loc13)
    %80 = tensor.empty() : tensor<8x1xf32> loc(#loc15)
    %transposed_14 = linalg.transpose ins(%arg20 : tensor<1x8xf32>) outs(%80 : tensor<8x1xf32>) permutation = [1, 0]  loc(#loc15)
    %81 = linalg.matmul ins(%79, %transposed_14 : tensor<16x8xf32>, tensor<8x1xf32>) outs(%17 : tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc15)
    %82 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%81, %arg21 : tensor<16x1xf32>, tensor<1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("head"), %in_15: f32 loc("head"), %out: f32 loc("head")):
      %89 = arith.addf %in, %in_15 : f32 loc(#loc15)
      linalg.yield %89 : f32 loc(#loc15)
    } -> tensor<16x1xf32> loc(#loc15)
    %83 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%82, %arg23 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("head"), %in_15: f32 loc("root"), %out: f32 loc("root")):
      %89 = arith.subf %in, %in_15 : f32 loc(#loc1)
      linalg.yield %89 : f32 loc(#loc1)
    } -> tensor<16x1xf32> loc(#loc1)
    %84 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%83 : tensor<16x1xf32>) outs(%15 : tensor<16x1xf32>) {
    ^bb0(%in: f32 loc("root"), %out: f32 loc("root")):
      %89 = math.fpowi %in, %c2_i64 : f32, i64 loc(#loc1)
      linalg.yield %89 : f32 loc(#loc1)
    } -> tensor<16x1xf32> loc(#loc1)
    %85 = tensor.empty() : tensor<f32> loc(#loc1)
    %86 = linalg.fill ins(%cst : f32) outs(%85 : tensor<f32>) -> tensor<f32> loc(#loc1)
    %87 = linalg.generic {indexing_maps = [#map, #map3], iterator_types = ["reduction", "reduction"]} ins(%84 : tensor<16x1xf32>) outs(%86 : tensor<f32>) {
    ^bb0(%in: f32 loc("root"), %out: f32 loc("root")):
      %89 = arith.addf %in, %out : f32 loc(#loc1)
      linalg.yield %89 : f32 loc(#loc1)
    } -> tensor<f32> loc(#loc1)
    %88 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = []} ins(%87 : tensor<f32>) outs(%85 : tensor<f32>) {
    ^bb0(%in: f32 loc("root"), %out: f32 loc("root")):
      %89 = arith.divf %in, %cst_7 : f32 loc(#loc1)
      linalg.yield %89 : f32 loc(#loc1)
    } -> tensor<f32> loc(#loc1)
    return %88 : tensor<f32> loc(#loc1)
  } loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
