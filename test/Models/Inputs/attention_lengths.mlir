module @jit_loss {
  func.func @loss(%arg0: tensor<2x19x4x8xf32>, %arg1: tensor<2x13x4x8xf32>, %arg2: tensor<2x19x4x8xf32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>, %arg5: tensor<2x13x4x8xf32>) -> tensor<f32> {
    %cst = arith.constant 8.320000e+02 : f32 loc(#loc0)
    %cst_0 = arith.constant 0xFF800000 : f32 loc(unknown)
    %cst_1 = arith.constant -2.38197633E+38 : f32 loc(#loc1)
    %cst_2 = arith.constant 0.353553385 : f32 loc(#loc2)
    %cst_3 = arith.constant 0.000000e+00 : f32 loc(unknown)
    %expanded = tensor.expand_shape %arg1 [[0], [1], [2], [3, 4]] output_shape [2, 13, 4, 1, 8] : tensor<2x13x4x8xf32> into tensor<2x13x4x1x8xf32> loc(#loc3)
    %0 = tensor.empty() : tensor<2x4x13x1x8xf32> loc(#loc4)
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x13x4x1x8xf32>) outs(%0 : tensor<2x4x13x1x8xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<2x4x13x1x8xf32> loc(#loc4)
    %2 = tensor.empty() : tensor<2x4x8x19xf32> loc(#loc4)
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x19x4x8xf32>) outs(%2 : tensor<2x4x8x19xf32>) {
    ^bb0(%in: f32 loc(#loc5), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<2x4x8x19xf32> loc(#loc4)
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3, 4]] : tensor<2x4x13x1x8xf32> into tensor<8x13x8xf32> loc(#loc4)
    %collapsed_4 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x8x19xf32> into tensor<8x8x19xf32> loc(#loc4)
    %4 = tensor.empty() : tensor<8x13x19xf32> loc(#loc4)
    %5 = linalg.fill ins(%cst_3 : f32) outs(%4 : tensor<8x13x19xf32>) -> tensor<8x13x19xf32> loc(#loc4)
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x13x8xf32>, tensor<8x8x19xf32>) outs(%5 : tensor<8x13x19xf32>) -> tensor<8x13x19xf32> loc(#loc4)
    %expanded_5 = tensor.expand_shape %6 [[0, 1], [2], [3, 4]] output_shape [2, 4, 13, 1, 19] : tensor<8x13x19xf32> into tensor<2x4x13x1x19xf32> loc(#loc4)
    %7 = tensor.empty() : tensor<2x4x13x1x19xf32> loc(#loc2)
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x13x1x19xf32>) outs(%7 : tensor<2x4x13x1x19xf32>) {
    ^bb0(%in: f32 loc(#loc4), %out: f32 loc(#loc2)):
      %84 = arith.mulf %in, %cst_2 : f32 loc(#loc2)
      linalg.yield %84 : f32 loc(#loc2)
    } -> tensor<2x4x13x1x19xf32> loc(#loc2)
    %9 = tensor.empty() : tensor<13xi32> loc(#loc6)
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%9 : tensor<13xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %84 = linalg.index 0 : index loc(#loc6)
      %85 = arith.index_cast %84 : index to i32 loc(#loc6)
      linalg.yield %85 : i32 loc(#loc6)
    } -> tensor<13xi32> loc(#loc6)
    %11 = tensor.empty() : tensor<2x13x1xi32> loc(#loc7)
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<13xi32>) outs(%11 : tensor<2x13x1xi32>) {
    ^bb0(%in: i32 loc(#loc6), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x13x1xi32> loc(#loc7)
    %13 = tensor.empty() : tensor<2x13x1xi32> loc(#loc7)
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%13 : tensor<2x13x1xi32>) {
    ^bb0(%in: i32 loc(#loc8), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x13x1xi32> loc(#loc7)
    %15 = tensor.empty() : tensor<2x13x1xi1> loc(#loc7)
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %14 : tensor<2x13x1xi32>, tensor<2x13x1xi32>) outs(%15 : tensor<2x13x1xi1>) {
    ^bb0(%in: i32 loc(#loc7), %in_14: i32 loc(#loc7), %out: i1 loc(#loc7)):
      %84 = arith.cmpi slt, %in, %in_14 : i32 loc(#loc7)
      linalg.yield %84 : i1 loc(#loc7)
    } -> tensor<2x13x1xi1> loc(#loc7)
    %17 = tensor.empty() : tensor<19xi32> loc(#loc6)
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%17 : tensor<19xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %84 = linalg.index 0 : index loc(#loc6)
      %85 = arith.index_cast %84 : index to i32 loc(#loc6)
      linalg.yield %85 : i32 loc(#loc6)
    } -> tensor<19xi32> loc(#loc6)
    %19 = tensor.empty() : tensor<2x1x19xi32> loc(#loc7)
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<19xi32>) outs(%19 : tensor<2x1x19xi32>) {
    ^bb0(%in: i32 loc(#loc6), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x1x19xi32> loc(#loc7)
    %21 = tensor.empty() : tensor<2x1x19xi32> loc(#loc7)
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4 : tensor<2xi32>) outs(%21 : tensor<2x1x19xi32>) {
    ^bb0(%in: i32 loc(#loc9), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x1x19xi32> loc(#loc7)
    %23 = tensor.empty() : tensor<2x1x19xi1> loc(#loc7)
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20, %22 : tensor<2x1x19xi32>, tensor<2x1x19xi32>) outs(%23 : tensor<2x1x19xi1>) {
    ^bb0(%in: i32 loc(#loc7), %in_14: i32 loc(#loc7), %out: i1 loc(#loc7)):
      %84 = arith.cmpi slt, %in, %in_14 : i32 loc(#loc7)
      linalg.yield %84 : i1 loc(#loc7)
    } -> tensor<2x1x19xi1> loc(#loc7)
    %25 = tensor.empty() : tensor<2x13x19xi1> loc(#loc10)
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16 : tensor<2x13x1xi1>) outs(%25 : tensor<2x13x19xi1>) {
    ^bb0(%in: i1 loc(#loc7), %out: i1 loc(#loc10)):
      linalg.yield %in : i1 loc(#loc10)
    } -> tensor<2x13x19xi1> loc(#loc10)
    %27 = tensor.empty() : tensor<2x13x19xi1> loc(#loc10)
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<2x1x19xi1>) outs(%27 : tensor<2x13x19xi1>) {
    ^bb0(%in: i1 loc(#loc7), %out: i1 loc(#loc10)):
      linalg.yield %in : i1 loc(#loc10)
    } -> tensor<2x13x19xi1> loc(#loc10)
    %29 = tensor.empty() : tensor<2x13x19xi1> loc(#loc10)
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %28 : tensor<2x13x19xi1>, tensor<2x13x19xi1>) outs(%29 : tensor<2x13x19xi1>) {
    ^bb0(%in: i1 loc(#loc10), %in_14: i1 loc(#loc10), %out: i1 loc(#loc10)):
      %84 = arith.andi %in, %in_14 : i1 loc(#loc10)
      linalg.yield %84 : i1 loc(#loc10)
    } -> tensor<2x13x19xi1> loc(#loc10)
    %31 = tensor.empty() : tensor<2x4x13x19xi1> loc(#loc10)
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x13x19xi1>) outs(%31 : tensor<2x4x13x19xi1>) {
    ^bb0(%in: i1 loc(#loc10), %out: i1 loc(#loc10)):
      linalg.yield %in : i1 loc(#loc10)
    } -> tensor<2x4x13x19xi1> loc(#loc10)
    %33 = tensor.empty() : tensor<1x2x4x13x19xi1> loc(#loc11)
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x4x13x19xi1>) outs(%33 : tensor<1x2x4x13x19xi1>) {
    ^bb0(%in: i1 loc(#loc10), %out: i1 loc(#loc11)):
      linalg.yield %in : i1 loc(#loc11)
    } -> tensor<1x2x4x13x19xi1> loc(#loc11)
    %collapsed_6 = tensor.collapse_shape %8 [[0, 1, 2, 3, 4]] : tensor<2x4x13x1x19xf32> into tensor<1976xf32> loc(#loc12)
    %expanded_7 = tensor.expand_shape %collapsed_6 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 13, 19] : tensor<1976xf32> into tensor<1x2x4x13x19xf32> loc(#loc12)
    %35 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc1)
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%34, %expanded_7 : tensor<1x2x4x13x19xi1>, tensor<1x2x4x13x19xf32>) outs(%35 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: i1 loc(#loc11), %in_14: f32 loc(#loc12), %out: f32 loc(#loc1)):
      %84 = arith.select %in, %in_14, %cst_1 : f32 loc(#loc1)
      linalg.yield %84 : f32 loc(#loc1)
    } -> tensor<1x2x4x13x19xf32> loc(#loc1)
    %37 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc13)
    %38 = linalg.fill ins(%cst_0 : f32) outs(%37 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc13)
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<1x2x4x13x19xf32>) outs(%38 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc13)):
      %84 = arith.maximumf %out, %in : f32 loc(#loc13)
      linalg.yield %84 : f32 loc(#loc13)
    } -> tensor<1x2x4x13xf32> loc(#loc13)
    %expanded_8 = tensor.expand_shape %39 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 13, 1] : tensor<1x2x4x13xf32> into tensor<1x2x4x13x1xf32> loc(#loc14)
    %40 = remat.stop_gradient %expanded_8 : tensor<1x2x4x13x1xf32> loc(#loc15)
    %41 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc16)
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<1x2x4x13x1xf32>) outs(%41 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc15), %out: f32 loc(#loc16)):
      linalg.yield %in : f32 loc(#loc16)
    } -> tensor<1x2x4x13x19xf32> loc(#loc16)
    %43 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc16)
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %42 : tensor<1x2x4x13x19xf32>, tensor<1x2x4x13x19xf32>) outs(%43 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc1), %in_14: f32 loc(#loc16), %out: f32 loc(#loc16)):
      %84 = arith.subf %in, %in_14 : f32 loc(#loc16)
      linalg.yield %84 : f32 loc(#loc16)
    } -> tensor<1x2x4x13x19xf32> loc(#loc16)
    %45 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc17)
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<1x2x4x13x19xf32>) outs(%45 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc17)):
      %84 = math.exp %in : f32 loc(#loc17)
      linalg.yield %84 : f32 loc(#loc17)
    } -> tensor<1x2x4x13x19xf32> loc(#loc17)
    %47 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc18)
    %48 = linalg.fill ins(%cst_3 : f32) outs(%47 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc18)
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%46 : tensor<1x2x4x13x19xf32>) outs(%48 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc18)):
      %84 = arith.addf %out, %in : f32 loc(#loc18)
      linalg.yield %84 : f32 loc(#loc18)
    } -> tensor<1x2x4x13xf32> loc(#loc18)
    %50 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc19)
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<1x2x4x13xf32>) outs(%50 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc19)):
      linalg.yield %in : f32 loc(#loc19)
    } -> tensor<1x2x4x13x19xf32> loc(#loc19)
    %52 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc19)
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%46, %51 : tensor<1x2x4x13x19xf32>, tensor<1x2x4x13x19xf32>) outs(%52 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc17), %in_14: f32 loc(#loc19), %out: f32 loc(#loc19)):
      %84 = arith.divf %in, %in_14 : f32 loc(#loc19)
      linalg.yield %84 : f32 loc(#loc19)
    } -> tensor<1x2x4x13x19xf32> loc(#loc19)
    %54 = tensor.empty() : tensor<2x4x8x19xf32> loc(#loc20)
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x19x4x8xf32>) outs(%54 : tensor<2x4x8x19xf32>) {
    ^bb0(%in: f32 loc(#loc21), %out: f32 loc(#loc20)):
      linalg.yield %in : f32 loc(#loc20)
    } -> tensor<2x4x8x19xf32> loc(#loc20)
    %56 = tensor.empty() : tensor<2x4x19x1x13xf32> loc(#loc20)
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<1x2x4x13x19xf32>) outs(%56 : tensor<2x4x19x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc19), %out: f32 loc(#loc20)):
      linalg.yield %in : f32 loc(#loc20)
    } -> tensor<2x4x19x1x13xf32> loc(#loc20)
    %collapsed_9 = tensor.collapse_shape %55 [[0, 1], [2], [3]] : tensor<2x4x8x19xf32> into tensor<8x8x19xf32> loc(#loc20)
    %collapsed_10 = tensor.collapse_shape %57 [[0, 1], [2], [3, 4]] : tensor<2x4x19x1x13xf32> into tensor<8x19x13xf32> loc(#loc20)
    %58 = tensor.empty() : tensor<8x8x13xf32> loc(#loc20)
    %59 = linalg.fill ins(%cst_3 : f32) outs(%58 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc20)
    %60 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<8x8x19xf32>, tensor<8x19x13xf32>) outs(%59 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc20)
    %expanded_11 = tensor.expand_shape %60 [[0, 1], [2], [3, 4]] output_shape [2, 4, 8, 1, 13] : tensor<8x8x13xf32> into tensor<2x4x8x1x13xf32> loc(#loc20)
    %61 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc22)
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<2x4x8x1x13xf32>) outs(%61 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc22)):
      linalg.yield %in : f32 loc(#loc22)
    } -> tensor<1x2x13x4x8xf32> loc(#loc22)
    %63 = tensor.empty() : tensor<2x13xi32> loc(#loc7)
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<13xi32>) outs(%63 : tensor<2x13xi32>) {
    ^bb0(%in: i32 loc(#loc6), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x13xi32> loc(#loc7)
    %65 = tensor.empty() : tensor<2x13xi32> loc(#loc7)
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%65 : tensor<2x13xi32>) {
    ^bb0(%in: i32 loc(#loc8), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x13xi32> loc(#loc7)
    %67 = tensor.empty() : tensor<2x13xi1> loc(#loc7)
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%64, %66 : tensor<2x13xi32>, tensor<2x13xi32>) outs(%67 : tensor<2x13xi1>) {
    ^bb0(%in: i32 loc(#loc7), %in_14: i32 loc(#loc7), %out: i1 loc(#loc7)):
      %84 = arith.cmpi slt, %in, %in_14 : i32 loc(#loc7)
      linalg.yield %84 : i1 loc(#loc7)
    } -> tensor<2x13xi1> loc(#loc7)
    %69 = tensor.empty() : tensor<2x13xf32> loc(#loc23)
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%68 : tensor<2x13xi1>) outs(%69 : tensor<2x13xf32>) {
    ^bb0(%in: i1 loc(#loc7), %out: f32 loc(#loc23)):
      %84 = arith.uitofp %in : i1 to f32 loc(#loc23)
      linalg.yield %84 : f32 loc(#loc23)
    } -> tensor<2x13xf32> loc(#loc23)
    %expanded_12 = tensor.expand_shape %70 [[0], [1, 2, 3]] output_shape [2, 13, 1, 1] : tensor<2x13xf32> into tensor<2x13x1x1xf32> loc(#loc14)
    %71 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc2)
    %72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, 0, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12 : tensor<2x13x1x1xf32>) outs(%71 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc14), %out: f32 loc(#loc2)):
      linalg.yield %in : f32 loc(#loc2)
    } -> tensor<1x2x13x4x8xf32> loc(#loc2)
    %73 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc2)
    %74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%62, %72 : tensor<1x2x13x4x8xf32>, tensor<1x2x13x4x8xf32>) outs(%73 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc22), %in_14: f32 loc(#loc2), %out: f32 loc(#loc2)):
      %84 = arith.mulf %in, %in_14 : f32 loc(#loc2)
      linalg.yield %84 : f32 loc(#loc2)
    } -> tensor<1x2x13x4x8xf32> loc(#loc2)
    %collapsed_13 = tensor.collapse_shape %74 [[0, 1], [2], [3], [4]] : tensor<1x2x13x4x8xf32> into tensor<2x13x4x8xf32> loc(#loc3)
    %75 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc24)
    %76 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_13, %arg5 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%75 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc3), %in_14: f32 loc(#loc25), %out: f32 loc(#loc24)):
      %84 = arith.subf %in, %in_14 : f32 loc(#loc24)
      linalg.yield %84 : f32 loc(#loc24)
    } -> tensor<2x13x4x8xf32> loc(#loc24)
    %77 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc26)
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%76 : tensor<2x13x4x8xf32>) outs(%77 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc24), %out: f32 loc(#loc26)):
      %84 = arith.mulf %in, %in : f32 loc(#loc26)
      linalg.yield %84 : f32 loc(#loc26)
    } -> tensor<2x13x4x8xf32> loc(#loc26)
    %79 = tensor.empty() : tensor<f32> loc(#loc27)
    %80 = linalg.fill ins(%cst_3 : f32) outs(%79 : tensor<f32>) -> tensor<f32> loc(#loc27)
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%78 : tensor<2x13x4x8xf32>) outs(%80 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc27), %out: f32 loc(#loc27)):
      %84 = arith.addf %out, %in : f32 loc(#loc27)
      linalg.yield %84 : f32 loc(#loc27)
    } -> tensor<f32> loc(#loc27)
    %82 = tensor.empty() : tensor<f32> loc(#loc0)
    %83 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%81 : tensor<f32>) outs(%82 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc27), %out: f32 loc(#loc0)):
      %84 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %84 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %83 : tensor<f32> loc(#loc28)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div"("attention_jax.py":121:20))
#loc1 = loc(callsite("select_n" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":39:12)))
#loc2 = loc("jit(loss)/vmap()/mul"("attention_jax.py":39:12))
#loc3 = loc("jit(loss)/reshape"("attention_jax.py":39:12))
#loc4 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general"("attention_jax.py":39:12))
#loc5 = loc("operands[0]")
#loc6 = loc("jit(loss)/vmap()/iota"("attention_jax.py":39:12))
#loc7 = loc("jit(loss)/vmap()/lt"("attention_jax.py":39:12))
#loc8 = loc("operands[3]")
#loc9 = loc("operands[4]")
#loc10 = loc("jit(loss)/vmap()/and"("attention_jax.py":39:12))
#loc11 = loc(callsite("broadcast_in_dim" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":39:12)))
#loc12 = loc(callsite("transpose" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":39:12)))
#loc13 = loc("jit(loss)/vmap()/reduce_max"("attention_jax.py":39:12))
#loc14 = loc("jit(loss)/vmap()/broadcast_in_dim"("attention_jax.py":39:12))
#loc15 = loc("jit(loss)/vmap(stop_gradient)"("attention_jax.py":39:12))
#loc16 = loc("jit(loss)/vmap()/sub"("attention_jax.py":39:12))
#loc17 = loc("jit(loss)/vmap()/exp"("attention_jax.py":39:12))
#loc18 = loc("jit(loss)/vmap()/reduce_sum"("attention_jax.py":39:12))
#loc19 = loc("jit(loss)/vmap()/div"("attention_jax.py":39:12))
#loc20 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general"("attention_jax.py":39:12))
#loc21 = loc("operands[2]")
#loc22 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose"("attention_jax.py":39:12))
#loc23 = loc("jit(loss)/vmap()/convert_element_type"("attention_jax.py":39:12))
#loc24 = loc("jit(loss)/sub"("attention_jax.py":121:22))
#loc25 = loc("operands[5]")
#loc26 = loc("jit(loss)/integer_pow"("attention_jax.py":121:21))
#loc27 = loc("jit(loss)/reduce_sum"("attention_jax.py":121:20))
#loc28 = loc("jit(loss)"("attention_jax.py":123:9))
