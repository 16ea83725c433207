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
      %83 = arith.mulf %in, %cst_2 : f32 loc(#loc2)
      linalg.yield %83 : f32 loc(#loc2)
    } -> tensor<2x4x13x1x19xf32> loc(#loc2)
    %9 = tensor.empty() : tensor<13xi32> loc(#loc6)
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%9 : tensor<13xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %83 = linalg.index 0 : index loc(#loc6)
      %84 = arith.index_cast %83 : index to i32 loc(#loc6)
      linalg.yield %84 : i32 loc(#loc6)
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
    ^bb0(%in: i32 loc(#loc7), %in_13: i32 loc(#loc7), %out: i1 loc(#loc7)):
      %83 = arith.cmpi slt, %in, %in_13 : i32 loc(#loc7)
      linalg.yield %83 : i1 loc(#loc7)
    } -> tensor<2x13x1xi1> loc(#loc7)
    %17 = tensor.empty() : tensor<19xi32> loc(#loc6)
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%17 : tensor<19xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %83 = linalg.index 0 : index loc(#loc6)
      %84 = arith.index_cast %83 : index to i32 loc(#loc6)
      linalg.yield %84 : i32 loc(#loc6)
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
    ^bb0(%in: i32 loc(#loc7), %in_13: i32 loc(#loc7), %out: i1 loc(#loc7)):
      %83 = arith.cmpi slt, %in, %in_13 : i32 loc(#loc7)
      linalg.yield %83 : i1 loc(#loc7)
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
    ^bb0(%in: i1 loc(#loc10), %in_13: i1 loc(#loc10), %out: i1 loc(#loc10)):
      %83 = arith.andi %in, %in_13 : i1 loc(#loc10)
      linalg.yield %83 : i1 loc(#loc10)
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
    ^bb0(%in: i1 loc(#loc11), %in_13: f32 loc(#loc12), %out: f32 loc(#loc1)):
      %83 = arith.select %in, %in_13, %cst_1 : f32 loc(#loc1)
      linalg.yield %83 : f32 loc(#loc1)
    } -> tensor<1x2x4x13x19xf32> loc(#loc1)
    %37 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc13)
    %38 = linalg.fill ins(%cst_0 : f32) outs(%37 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc13)
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<1x2x4x13x19xf32>) outs(%38 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc13)):
      %83 = arith.maximumf %out, %in : f32 loc(#loc13)
      linalg.yield %83 : f32 loc(#loc13)
    } -> tensor<1x2x4x13xf32> loc(#loc13)
    %40 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc14)
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<1x2x4x13xf32>) outs(%40 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc15), %out: f32 loc(#loc14)):
      linalg.yield %in : f32 loc(#loc14)
    } -> tensor<1x2x4x13x19xf32> loc(#loc14)
    %42 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc14)
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %41 : tensor<1x2x4x13x19xf32>, tensor<1x2x4x13x19xf32>) outs(%42 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc1), %in_13: f32 loc(#loc14), %out: f32 loc(#loc14)):
      %83 = arith.subf %in, %in_13 : f32 loc(#loc14)
      linalg.yield %83 : f32 loc(#loc14)
    } -> tensor<1x2x4x13x19xf32> loc(#loc14)
    %44 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc16)
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<1x2x4x13x19xf32>) outs(%44 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc14), %out: f32 loc(#loc16)):
      %83 = math.exp %in : f32 loc(#loc16)
      linalg.yield %83 : f32 loc(#loc16)
    } -> tensor<1x2x4x13x19xf32> loc(#loc16)
    %46 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc17)
    %47 = linalg.fill ins(%cst_3 : f32) outs(%46 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc17)
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%45 : tensor<1x2x4x13x19xf32>) outs(%47 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc17)):
      %83 = arith.addf %out, %in : f32 loc(#loc17)
      linalg.yield %83 : f32 loc(#loc17)
    } -> tensor<1x2x4x13xf32> loc(#loc17)
    %49 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc18)
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<1x2x4x13xf32>) outs(%49 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc18)):
      linalg.yield %in : f32 loc(#loc18)
    } -> tensor<1x2x4x13x19xf32> loc(#loc18)
    %51 = tensor.empty() : tensor<1x2x4x13x19xf32> loc(#loc18)
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%45, %50 : tensor<1x2x4x13x19xf32>, tensor<1x2x4x13x19xf32>) outs(%51 : tensor<1x2x4x13x19xf32>) {
    ^bb0(%in: f32 loc(#loc16), %in_13: f32 loc(#loc18), %out: f32 loc(#loc18)):
      %83 = arith.divf %in, %in_13 : f32 loc(#loc18)
      linalg.yield %83 : f32 loc(#loc18)
    } -> tensor<1x2x4x13x19xf32> loc(#loc18)
    %53 = tensor.empty() : tensor<2x4x8x19xf32> loc(#loc19)
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x19x4x8xf32>) outs(%53 : tensor<2x4x8x19xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc19)):
      linalg.yield %in : f32 loc(#loc19)
    } -> tensor<2x4x8x19xf32> loc(#loc19)
    %55 = tensor.empty() : tensor<2x4x19x1x13xf32> loc(#loc19)
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<1x2x4x13x19xf32>) outs(%55 : tensor<2x4x19x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc19)):
      linalg.yield %in : f32 loc(#loc19)
    } -> tensor<2x4x19x1x13xf32> loc(#loc19)
    %collapsed_8 = tensor.collapse_shape %54 [[0, 1], [2], [3]] : tensor<2x4x8x19xf32> into tensor<8x8x19xf32> loc(#loc19)
    %collapsed_9 = tensor.collapse_shape %56 [[0, 1], [2], [3, 4]] : tensor<2x4x19x1x13xf32> into tensor<8x19x13xf32> loc(#loc19)
    %57 = tensor.empty() : tensor<8x8x13xf32> loc(#loc19)
    %58 = linalg.fill ins(%cst_3 : f32) outs(%57 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc19)
    %59 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<8x8x19xf32>, tensor<8x19x13xf32>) outs(%58 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc19)
    %expanded_10 = tensor.expand_shape %59 [[0, 1], [2], [3, 4]] output_shape [2, 4, 8, 1, 13] : tensor<8x8x13xf32> into tensor<2x4x8x1x13xf32> loc(#loc19)
    %60 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc21)
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<2x4x8x1x13xf32>) outs(%60 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc19), %out: f32 loc(#loc21)):
      linalg.yield %in : f32 loc(#loc21)
    } -> tensor<1x2x13x4x8xf32> loc(#loc21)
    %62 = tensor.empty() : tensor<2x13xi32> loc(#loc7)
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<13xi32>) outs(%62 : tensor<2x13xi32>) {
    ^bb0(%in: i32 loc(#loc6), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x13xi32> loc(#loc7)
    %64 = tensor.empty() : tensor<2x13xi32> loc(#loc7)
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%64 : tensor<2x13xi32>) {
    ^bb0(%in: i32 loc(#loc8), %out: i32 loc(#loc7)):
      linalg.yield %in : i32 loc(#loc7)
    } -> tensor<2x13xi32> loc(#loc7)
    %66 = tensor.empty() : tensor<2x13xi1> loc(#loc7)
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%63, %65 : tensor<2x13xi32>, tensor<2x13xi32>) outs(%66 : tensor<2x13xi1>) {
    ^bb0(%in: i32 loc(#loc7), %in_13: i32 loc(#loc7), %out: i1 loc(#loc7)):
      %83 = arith.cmpi slt, %in, %in_13 : i32 loc(#loc7)
      linalg.yield %83 : i1 loc(#loc7)
    } -> tensor<2x13xi1> loc(#loc7)
    %68 = tensor.empty() : tensor<2x13xf32> loc(#loc22)
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%67 : tensor<2x13xi1>) outs(%68 : tensor<2x13xf32>) {
    ^bb0(%in: i1 loc(#loc7), %out: f32 loc(#loc22)):
      %83 = arith.uitofp %in : i1 to f32 loc(#loc22)
      linalg.yield %83 : f32 loc(#loc22)
    } -> tensor<2x13xf32> loc(#loc22)
    %expanded_11 = tensor.expand_shape %69 [[0], [1, 2, 3]] output_shape [2, 13, 1, 1] : tensor<2x13xf32> into tensor<2x13x1x1xf32> loc(#loc23)
    %70 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc2)
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, 0, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<2x13x1x1xf32>) outs(%70 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc23), %out: f32 loc(#loc2)):
      linalg.yield %in : f32 loc(#loc2)
    } -> tensor<1x2x13x4x8xf32> loc(#loc2)
    %72 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc2)
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%61, %71 : tensor<1x2x13x4x8xf32>, tensor<1x2x13x4x8xf32>) outs(%72 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc21), %in_13: f32 loc(#loc2), %out: f32 loc(#loc2)):
      %83 = arith.mulf %in, %in_13 : f32 loc(#loc2)
      linalg.yield %83 : f32 loc(#loc2)
    } -> tensor<1x2x13x4x8xf32> loc(#loc2)
    %collapsed_12 = tensor.collapse_shape %73 [[0, 1], [2], [3], [4]] : tensor<1x2x13x4x8xf32> into tensor<2x13x4x8xf32> loc(#loc3)
    %74 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc24)
    %75 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_12, %arg5 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%74 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc3), %in_13: f32 loc(#loc25), %out: f32 loc(#loc24)):
      %83 = arith.subf %in, %in_13 : f32 loc(#loc24)
      linalg.yield %83 : f32 loc(#loc24)
    } -> tensor<2x13x4x8xf32> loc(#loc24)
    %76 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc26)
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%75 : tensor<2x13x4x8xf32>) outs(%76 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc24), %out: f32 loc(#loc26)):
      %83 = arith.mulf %in, %in : f32 loc(#loc26)
      linalg.yield %83 : f32 loc(#loc26)
    } -> tensor<2x13x4x8xf32> loc(#loc26)
    %78 = tensor.empty() : tensor<f32> loc(#loc27)
    %79 = linalg.fill ins(%cst_3 : f32) outs(%78 : tensor<f32>) -> tensor<f32> loc(#loc27)
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%77 : tensor<2x13x4x8xf32>) outs(%79 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc27), %out: f32 loc(#loc27)):
      %83 = arith.addf %out, %in : f32 loc(#loc27)
      linalg.yield %83 : f32 loc(#loc27)
    } -> tensor<f32> loc(#loc27)
    %81 = tensor.empty() : tensor<f32> loc(#loc0)
    %82 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%80 : tensor<f32>) outs(%81 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc27), %out: f32 loc(#loc0)):
      %83 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %83 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %82 : tensor<f32> loc(#loc28)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div")
#loc1 = loc(callsite("select_n" at "jit(loss)/vmap(jit(_where))"))
#loc2 = loc("jit(loss)/vmap()/mul")
#loc3 = loc("jit(loss)/reshape")
#loc4 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general")
#loc5 = loc("params['k2']")
#loc6 = loc("jit(loss)/vmap()/iota")
#loc7 = loc("jit(loss)/vmap()/lt")
#loc8 = loc("inputs[0]")
#loc9 = loc("inputs[1]")
#loc10 = loc("jit(loss)/vmap()/and")
#loc11 = loc(callsite("broadcast_in_dim" at "jit(loss)/vmap(jit(_where))"))
#loc12 = loc(callsite("transpose" at "jit(loss)/vmap(jit(_where))"))
#loc13 = loc("jit(loss)/vmap()/reduce_max")
#loc14 = loc("jit(loss)/vmap()/sub")
#loc15 = loc("jit(loss)/vmap()/max")
#loc16 = loc("jit(loss)/vmap()/exp")
#loc17 = loc("jit(loss)/vmap()/reduce_sum")
#loc18 = loc("jit(loss)/vmap()/div")
#loc19 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general")
#loc20 = loc("params['v2']")
#loc21 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose")
#loc22 = loc("jit(loss)/vmap()/convert_element_type")
#loc23 = loc("jit(loss)/vmap()/broadcast_in_dim")
#loc24 = loc("jit(loss)/sub")
#loc25 = loc("inputs[2]")
#loc26 = loc("jit(loss)/integer_pow")
#loc27 = loc("jit(loss)/reduce_sum")
#loc28 = loc("jit(loss)")
