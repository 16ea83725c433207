module @jit_loss {
  func.func @loss(%arg0: tensor<2x13x2x8xf32>, %arg1: tensor<2x13x4x8xf32>, %arg2: tensor<2x13x2x8xf32>, %arg3: tensor<2x13x4x8xf32>) -> tensor<f32> {
    %cst = arith.constant 8.320000e+02 : f32 loc(#loc0)
    %cst_0 = arith.constant 0xFF800000 : f32 loc(unknown)
    %cst_1 = arith.constant -2.38197633E+38 : f32 loc(#loc1)
    %cst_2 = arith.constant 0.353553385 : f32 loc(#loc2)
    %cst_3 = arith.constant 0.000000e+00 : f32 loc(unknown)
    %expanded = tensor.expand_shape %arg1 [[0], [1], [2, 3], [4]] output_shape [2, 13, 2, 2, 8] : tensor<2x13x4x8xf32> into tensor<2x13x2x2x8xf32> loc(#loc3)
    %0 = tensor.empty() : tensor<2x2x13x2x8xf32> loc(#loc4)
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x13x2x2x8xf32>) outs(%0 : tensor<2x2x13x2x8xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<2x2x13x2x8xf32> loc(#loc4)
    %2 = tensor.empty() : tensor<2x2x8x13xf32> loc(#loc4)
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x13x2x8xf32>) outs(%2 : tensor<2x2x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc5), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<2x2x8x13xf32> loc(#loc4)
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2, 3], [4]] : tensor<2x2x13x2x8xf32> into tensor<4x26x8xf32> loc(#loc4)
    %collapsed_4 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x2x8x13xf32> into tensor<4x8x13xf32> loc(#loc4)
    %4 = tensor.empty() : tensor<4x26x13xf32> loc(#loc4)
    %5 = linalg.fill ins(%cst_3 : f32) outs(%4 : tensor<4x26x13xf32>) -> tensor<4x26x13xf32> loc(#loc4)
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<4x26x8xf32>, tensor<4x8x13xf32>) outs(%5 : tensor<4x26x13xf32>) -> tensor<4x26x13xf32> loc(#loc4)
    %expanded_5 = tensor.expand_shape %6 [[0, 1], [2, 3], [4]] output_shape [2, 2, 13, 2, 13] : tensor<4x26x13xf32> into tensor<2x2x13x2x13xf32> loc(#loc4)
    %7 = tensor.empty() : tensor<2x2x13x2x13xf32> loc(#loc2)
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x2x13x2x13xf32>) outs(%7 : tensor<2x2x13x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc4), %out: f32 loc(#loc2)):
      %60 = arith.mulf %in, %cst_2 : f32 loc(#loc2)
      linalg.yield %60 : f32 loc(#loc2)
    } -> tensor<2x2x13x2x13xf32> loc(#loc2)
    %9 = tensor.empty() : tensor<13x13xi32> loc(#loc6)
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%9 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %60 = linalg.index 0 : index loc(#loc6)
      %61 = arith.index_cast %60 : index to i32 loc(#loc6)
      linalg.yield %61 : i32 loc(#loc6)
    } -> tensor<13x13xi32> loc(#loc6)
    %11 = tensor.empty() : tensor<13x13xi32> loc(#loc6)
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%11 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %60 = linalg.index 1 : index loc(#loc6)
      %61 = arith.index_cast %60 : index to i32 loc(#loc6)
      linalg.yield %61 : i32 loc(#loc6)
    } -> tensor<13x13xi32> loc(#loc6)
    %13 = tensor.empty() : tensor<13x13xi1> loc(#loc7)
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%13 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc6), %in_11: i32 loc(#loc6), %out: i1 loc(#loc7)):
      %60 = arith.cmpi sge, %in, %in_11 : i32 loc(#loc7)
      linalg.yield %60 : i1 loc(#loc7)
    } -> tensor<13x13xi1> loc(#loc7)
    %15 = tensor.empty() : tensor<2x2x13x13xi1> loc(#loc8)
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<13x13xi1>) outs(%15 : tensor<2x2x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc9), %out: i1 loc(#loc8)):
      linalg.yield %in : i1 loc(#loc8)
    } -> tensor<2x2x13x13xi1> loc(#loc8)
    %17 = tensor.empty() : tensor<2x2x2x13x13xi1> loc(#loc10)
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x2x13x13xi1>) outs(%17 : tensor<2x2x2x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc8), %out: i1 loc(#loc10)):
      linalg.yield %in : i1 loc(#loc10)
    } -> tensor<2x2x2x13x13xi1> loc(#loc10)
    %19 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc11)
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x2x13x2x13xf32>) outs(%19 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc2), %out: f32 loc(#loc11)):
      linalg.yield %in : f32 loc(#loc11)
    } -> tensor<2x2x2x13x13xf32> loc(#loc11)
    %21 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc1)
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18, %20 : tensor<2x2x2x13x13xi1>, tensor<2x2x2x13x13xf32>) outs(%21 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: i1 loc(#loc10), %in_11: f32 loc(#loc11), %out: f32 loc(#loc1)):
      %60 = arith.select %in, %in_11, %cst_1 : f32 loc(#loc1)
      linalg.yield %60 : f32 loc(#loc1)
    } -> tensor<2x2x2x13x13xf32> loc(#loc1)
    %23 = tensor.empty() : tensor<2x2x2x13xf32> loc(#loc12)
    %24 = linalg.fill ins(%cst_0 : f32) outs(%23 : tensor<2x2x2x13xf32>) -> tensor<2x2x2x13xf32> loc(#loc12)
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<2x2x2x13x13xf32>) outs(%24 : tensor<2x2x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc12), %out: f32 loc(#loc12)):
      %60 = arith.maximumf %out, %in : f32 loc(#loc12)
      linalg.yield %60 : f32 loc(#loc12)
    } -> tensor<2x2x2x13xf32> loc(#loc12)
    %expanded_6 = tensor.expand_shape %25 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 13, 1] : tensor<2x2x2x13xf32> into tensor<2x2x2x13x1xf32> loc(#loc13)
    %26 = remat.stop_gradient %expanded_6 : tensor<2x2x2x13x1xf32> loc(#loc14)
    %27 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc15)
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x2x2x13x1xf32>) outs(%27 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc14), %out: f32 loc(#loc15)):
      linalg.yield %in : f32 loc(#loc15)
    } -> tensor<2x2x2x13x13xf32> loc(#loc15)
    %29 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc15)
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22, %28 : tensor<2x2x2x13x13xf32>, tensor<2x2x2x13x13xf32>) outs(%29 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc1), %in_11: f32 loc(#loc15), %out: f32 loc(#loc15)):
      %60 = arith.subf %in, %in_11 : f32 loc(#loc15)
      linalg.yield %60 : f32 loc(#loc15)
    } -> tensor<2x2x2x13x13xf32> loc(#loc15)
    %31 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc16)
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x2x2x13x13xf32>) outs(%31 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc15), %out: f32 loc(#loc16)):
      %60 = math.exp %in : f32 loc(#loc16)
      linalg.yield %60 : f32 loc(#loc16)
    } -> tensor<2x2x2x13x13xf32> loc(#loc16)
    %33 = tensor.empty() : tensor<2x2x2x13xf32> loc(#loc17)
    %34 = linalg.fill ins(%cst_3 : f32) outs(%33 : tensor<2x2x2x13xf32>) -> tensor<2x2x2x13xf32> loc(#loc17)
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%32 : tensor<2x2x2x13x13xf32>) outs(%34 : tensor<2x2x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc17)):
      %60 = arith.addf %out, %in : f32 loc(#loc17)
      linalg.yield %60 : f32 loc(#loc17)
    } -> tensor<2x2x2x13xf32> loc(#loc17)
    %36 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc18)
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x2x2x13xf32>) outs(%36 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc18)):
      linalg.yield %in : f32 loc(#loc18)
    } -> tensor<2x2x2x13x13xf32> loc(#loc18)
    %38 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc18)
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32, %37 : tensor<2x2x2x13x13xf32>, tensor<2x2x2x13x13xf32>) outs(%38 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc16), %in_11: f32 loc(#loc18), %out: f32 loc(#loc18)):
      %60 = arith.divf %in, %in_11 : f32 loc(#loc18)
      linalg.yield %60 : f32 loc(#loc18)
    } -> tensor<2x2x2x13x13xf32> loc(#loc18)
    %40 = tensor.empty() : tensor<2x2x8x13xf32> loc(#loc19)
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x13x2x8xf32>) outs(%40 : tensor<2x2x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc19)):
      linalg.yield %in : f32 loc(#loc19)
    } -> tensor<2x2x8x13xf32> loc(#loc19)
    %42 = tensor.empty() : tensor<2x2x13x2x13xf32> loc(#loc19)
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<2x2x2x13x13xf32>) outs(%42 : tensor<2x2x13x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc19)):
      linalg.yield %in : f32 loc(#loc19)
    } -> tensor<2x2x13x2x13xf32> loc(#loc19)
    %collapsed_7 = tensor.collapse_shape %41 [[0, 1], [2], [3]] : tensor<2x2x8x13xf32> into tensor<4x8x13xf32> loc(#loc19)
    %collapsed_8 = tensor.collapse_shape %43 [[0, 1], [2], [3, 4]] : tensor<2x2x13x2x13xf32> into tensor<4x13x26xf32> loc(#loc19)
    %44 = tensor.empty() : tensor<4x8x26xf32> loc(#loc19)
    %45 = linalg.fill ins(%cst_3 : f32) outs(%44 : tensor<4x8x26xf32>) -> tensor<4x8x26xf32> loc(#loc19)
    %46 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<4x8x13xf32>, tensor<4x13x26xf32>) outs(%45 : tensor<4x8x26xf32>) -> tensor<4x8x26xf32> loc(#loc19)
    %expanded_9 = tensor.expand_shape %46 [[0, 1], [2], [3, 4]] output_shape [2, 2, 8, 2, 13] : tensor<4x8x26xf32> into tensor<2x2x8x2x13xf32> loc(#loc19)
    %47 = tensor.empty() : tensor<2x2x13x2x8xf32> loc(#loc21)
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x2x8x2x13xf32>) outs(%47 : tensor<2x2x13x2x8xf32>) {
    ^bb0(%in: f32 loc(#loc19), %out: f32 loc(#loc21)):
      linalg.yield %in : f32 loc(#loc21)
    } -> tensor<2x2x13x2x8xf32> loc(#loc21)
    %49 = tensor.empty() : tensor<2x13x2x2x8xf32> loc(#loc22)
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<2x2x13x2x8xf32>) outs(%49 : tensor<2x13x2x2x8xf32>) {
    ^bb0(%in: f32 loc(#loc21), %out: f32 loc(#loc22)):
      linalg.yield %in : f32 loc(#loc22)
    } -> tensor<2x13x2x2x8xf32> loc(#loc22)
    %collapsed_10 = tensor.collapse_shape %50 [[0], [1], [2, 3], [4]] : tensor<2x13x2x2x8xf32> into tensor<2x13x4x8xf32> loc(#loc3)
    %51 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc23)
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_10, %arg3 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%51 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc3), %in_11: f32 loc(#loc24), %out: f32 loc(#loc23)):
      %60 = arith.subf %in, %in_11 : f32 loc(#loc23)
      linalg.yield %60 : f32 loc(#loc23)
    } -> tensor<2x13x4x8xf32> loc(#loc23)
    %53 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc25)
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<2x13x4x8xf32>) outs(%53 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc23), %out: f32 loc(#loc25)):
      %60 = arith.mulf %in, %in : f32 loc(#loc25)
      linalg.yield %60 : f32 loc(#loc25)
    } -> tensor<2x13x4x8xf32> loc(#loc25)
    %55 = tensor.empty() : tensor<f32> loc(#loc26)
    %56 = linalg.fill ins(%cst_3 : f32) outs(%55 : tensor<f32>) -> tensor<f32> loc(#loc26)
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%54 : tensor<2x13x4x8xf32>) outs(%56 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc26), %out: f32 loc(#loc26)):
      %60 = arith.addf %out, %in : f32 loc(#loc26)
      linalg.yield %60 : f32 loc(#loc26)
    } -> tensor<f32> loc(#loc26)
    %58 = tensor.empty() : tensor<f32> loc(#loc0)
    %59 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%57 : tensor<f32>) outs(%58 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc26), %out: f32 loc(#loc0)):
      %60 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %60 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %59 : tensor<f32> loc(#loc27)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div"("attention_jax.py":121:20))
#loc1 = loc(callsite("select_n" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":27:12)))
#loc2 = loc("jit(loss)/vmap()/mul"("attention_jax.py":27:12))
#loc3 = loc("jit(loss)/reshape"("attention_jax.py":27:12))
#loc4 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general"("attention_jax.py":27:12))
#loc5 = loc("operands[0]")
#loc6 = loc(callsite("iota" at "jit(loss)/vmap(jit(tril))"("attention_jax.py":27:12)))
#loc7 = loc(callsite("ge" at "jit(loss)/vmap(jit(tril))"("attention_jax.py":27:12)))
#loc8 = loc("jit(loss)/vmap()/and"("attention_jax.py":27:12))
#loc9 = loc(callsite("select_n" at "jit(loss)/vmap(jit(tril))"("attention_jax.py":27:12)))
#loc10 = loc(callsite("broadcast_in_dim" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":27:12)))
#loc11 = loc(callsite("transpose" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":27:12)))
#loc12 = loc("jit(loss)/vmap()/reduce_max"("attention_jax.py":27:12))
#loc13 = loc("jit(loss)/vmap()/broadcast_in_dim"("attention_jax.py":27:12))
#loc14 = loc("jit(loss)/vmap(stop_gradient)"("attention_jax.py":27:12))
#loc15 = loc("jit(loss)/vmap()/sub"("attention_jax.py":27:12))
#loc16 = loc("jit(loss)/vmap()/exp"("attention_jax.py":27:12))
#loc17 = loc("jit(loss)/vmap()/reduce_sum"("attention_jax.py":27:12))
#loc18 = loc("jit(loss)/vmap()/div"("attention_jax.py":27:12))
#loc19 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general"("attention_jax.py":27:12))
#loc20 = loc("operands[2]")
#loc21 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose"("attention_jax.py":27:12))
#loc22 = loc("jit(loss)/vmap()/transpose"("attention_jax.py":27:12))
#loc23 = loc("jit(loss)/sub"("attention_jax.py":121:22))
#loc24 = loc("operands[3]")
#loc25 = loc("jit(loss)/integer_pow"("attention_jax.py":121:21))
#loc26 = loc("jit(loss)/reduce_sum"("attention_jax.py":121:20))
#loc27 = loc("jit(loss)"("attention_jax.py":123:9))
