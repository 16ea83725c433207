module @jit_loss {
  func.func @loss(%arg0: tensor<2x13x4x8xf32>, %arg1: tensor<2x13x4x8xf32>, %arg2: tensor<2x13x4x8xf32>, %arg3: tensor<2x13x4x8xf32>) -> tensor<f32> {
    %cst = arith.constant 8.320000e+02 : f32 loc(#loc0)
    %cst_0 = arith.constant 0xFF800000 : f32 loc(unknown)
    %cst_1 = arith.constant -2.38197633E+38 : f32 loc(#loc1)
    %c5_i32 = arith.constant 5 : i32 loc(#loc2)
    %cst_2 = arith.constant 0.353553385 : f32 loc(#loc3)
    %cst_3 = arith.constant 0.000000e+00 : f32 loc(unknown)
    %cst_4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]> : tensor<13xi32> loc(unknown)
    %expanded = tensor.expand_shape %arg1 [[0], [1], [2], [3, 4]] output_shape [2, 13, 4, 1, 8] : tensor<2x13x4x8xf32> into tensor<2x13x4x1x8xf32> loc(#loc4)
    %0 = tensor.empty() : tensor<2x4x13x1x8xf32> loc(#loc5)
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x13x4x1x8xf32>) outs(%0 : tensor<2x4x13x1x8xf32>) {
    ^bb0(%in: f32 loc(#loc4), %out: f32 loc(#loc5)):
      linalg.yield %in : f32 loc(#loc5)
    } -> tensor<2x4x13x1x8xf32> loc(#loc5)
    %2 = tensor.empty() : tensor<2x4x8x13xf32> loc(#loc5)
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x13x4x8xf32>) outs(%2 : tensor<2x4x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc6), %out: f32 loc(#loc5)):
      linalg.yield %in : f32 loc(#loc5)
    } -> tensor<2x4x8x13xf32> loc(#loc5)
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3, 4]] : tensor<2x4x13x1x8xf32> into tensor<8x13x8xf32> loc(#loc5)
    %collapsed_5 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x8x13xf32> into tensor<8x8x13xf32> loc(#loc5)
    %4 = tensor.empty() : tensor<8x13x13xf32> loc(#loc5)
    %5 = linalg.fill ins(%cst_3 : f32) outs(%4 : tensor<8x13x13xf32>) -> tensor<8x13x13xf32> loc(#loc5)
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<8x13x8xf32>, tensor<8x8x13xf32>) outs(%5 : tensor<8x13x13xf32>) -> tensor<8x13x13xf32> loc(#loc5)
    %expanded_6 = tensor.expand_shape %6 [[0, 1], [2], [3, 4]] output_shape [2, 4, 13, 1, 13] : tensor<8x13x13xf32> into tensor<2x4x13x1x13xf32> loc(#loc5)
    %7 = tensor.empty() : tensor<2x4x13x1x13xf32> loc(#loc3)
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x13x1x13xf32>) outs(%7 : tensor<2x4x13x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc5), %out: f32 loc(#loc3)):
      %76 = arith.mulf %in, %cst_2 : f32 loc(#loc3)
      linalg.yield %76 : f32 loc(#loc3)
    } -> tensor<2x4x13x1x13xf32> loc(#loc3)
    %9 = tensor.empty() : tensor<13x13xi32> loc(#loc7)
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%9 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc7)):
      %76 = linalg.index 0 : index loc(#loc7)
      %77 = arith.index_cast %76 : index to i32 loc(#loc7)
      linalg.yield %77 : i32 loc(#loc7)
    } -> tensor<13x13xi32> loc(#loc7)
    %11 = tensor.empty() : tensor<13x13xi32> loc(#loc7)
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%11 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc7)):
      %76 = linalg.index 1 : index loc(#loc7)
      %77 = arith.index_cast %76 : index to i32 loc(#loc7)
      linalg.yield %77 : i32 loc(#loc7)
    } -> tensor<13x13xi32> loc(#loc7)
    %13 = tensor.empty() : tensor<13x13xi1> loc(#loc8)
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%13 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc7), %in_14: i32 loc(#loc7), %out: i1 loc(#loc8)):
      %76 = arith.cmpi sge, %in, %in_14 : i32 loc(#loc8)
      linalg.yield %76 : i1 loc(#loc8)
    } -> tensor<13x13xi1> loc(#loc8)
    %15 = tensor.empty() : tensor<2x4x13x13xi1> loc(#loc9)
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<13x13xi1>) outs(%15 : tensor<2x4x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc10), %out: i1 loc(#loc9)):
      linalg.yield %in : i1 loc(#loc9)
    } -> tensor<2x4x13x13xi1> loc(#loc9)
    %17 = tensor.empty() : tensor<1x13xi32> loc(#loc11)
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<13xi32>) outs(%17 : tensor<1x13xi32>) {
    ^bb0(%in: i32 loc(unknown), %out: i32 loc(#loc11)):
      linalg.yield %in : i32 loc(#loc11)
    } -> tensor<1x13xi32> loc(#loc11)
    %19 = tensor.empty() : tensor<1x13xi32> loc(#loc2)
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<1x13xi32>) outs(%19 : tensor<1x13xi32>) {
    ^bb0(%in: i32 loc(#loc11), %out: i32 loc(#loc2)):
      %76 = arith.addi %in, %c5_i32 : i32 loc(#loc2)
      linalg.yield %76 : i32 loc(#loc2)
    } -> tensor<1x13xi32> loc(#loc2)
    %21 = tensor.empty() : tensor<13x13xi32> loc(#loc12)
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<13xi32>) outs(%21 : tensor<13x13xi32>) {
    ^bb0(%in: i32 loc(unknown), %out: i32 loc(#loc12)):
      linalg.yield %in : i32 loc(#loc12)
    } -> tensor<13x13xi32> loc(#loc12)
    %23 = tensor.empty() : tensor<13x13xi32> loc(#loc12)
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<1x13xi32>) outs(%23 : tensor<13x13xi32>) {
    ^bb0(%in: i32 loc(#loc2), %out: i32 loc(#loc12)):
      linalg.yield %in : i32 loc(#loc12)
    } -> tensor<13x13xi32> loc(#loc12)
    %25 = tensor.empty() : tensor<13x13xi1> loc(#loc12)
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %24 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%25 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc12), %in_14: i32 loc(#loc12), %out: i1 loc(#loc12)):
      %76 = arith.cmpi sle, %in, %in_14 : i32 loc(#loc12)
      linalg.yield %76 : i1 loc(#loc12)
    } -> tensor<13x13xi1> loc(#loc12)
    %27 = tensor.empty() : tensor<13x13xi32> loc(#loc13)
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<13xi32>) outs(%27 : tensor<13x13xi32>) {
    ^bb0(%in: i32 loc(unknown), %out: i32 loc(#loc13)):
      linalg.yield %in : i32 loc(#loc13)
    } -> tensor<13x13xi32> loc(#loc13)
    %29 = tensor.empty() : tensor<13x13xi1> loc(#loc13)
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %28 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%29 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc12), %in_14: i32 loc(#loc13), %out: i1 loc(#loc13)):
      %76 = arith.cmpi sge, %in, %in_14 : i32 loc(#loc13)
      linalg.yield %76 : i1 loc(#loc13)
    } -> tensor<13x13xi1> loc(#loc13)
    %31 = tensor.empty() : tensor<13x13xi1> loc(#loc9)
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%30, %26 : tensor<13x13xi1>, tensor<13x13xi1>) outs(%31 : tensor<13x13xi1>) {
    ^bb0(%in: i1 loc(#loc13), %in_14: i1 loc(#loc12), %out: i1 loc(#loc9)):
      %76 = arith.andi %in, %in_14 : i1 loc(#loc9)
      linalg.yield %76 : i1 loc(#loc9)
    } -> tensor<13x13xi1> loc(#loc9)
    %33 = tensor.empty() : tensor<2x4x13x13xi1> loc(#loc9)
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<13x13xi1>) outs(%33 : tensor<2x4x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc9), %out: i1 loc(#loc9)):
      linalg.yield %in : i1 loc(#loc9)
    } -> tensor<2x4x13x13xi1> loc(#loc9)
    %35 = tensor.empty() : tensor<2x4x13x13xi1> loc(#loc9)
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %34 : tensor<2x4x13x13xi1>, tensor<2x4x13x13xi1>) outs(%35 : tensor<2x4x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc9), %in_14: i1 loc(#loc9), %out: i1 loc(#loc9)):
      %76 = arith.andi %in, %in_14 : i1 loc(#loc9)
      linalg.yield %76 : i1 loc(#loc9)
    } -> tensor<2x4x13x13xi1> loc(#loc9)
    %37 = tensor.empty() : tensor<1x2x4x13x13xi1> loc(#loc14)
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x13x13xi1>) outs(%37 : tensor<1x2x4x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc9), %out: i1 loc(#loc14)):
      linalg.yield %in : i1 loc(#loc14)
    } -> tensor<1x2x4x13x13xi1> loc(#loc14)
    %collapsed_7 = tensor.collapse_shape %8 [[0, 1, 2, 3, 4]] : tensor<2x4x13x1x13xf32> into tensor<1352xf32> loc(#loc15)
    %expanded_8 = tensor.expand_shape %collapsed_7 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 13, 13] : tensor<1352xf32> into tensor<1x2x4x13x13xf32> loc(#loc15)
    %39 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc1)
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38, %expanded_8 : tensor<1x2x4x13x13xi1>, tensor<1x2x4x13x13xf32>) outs(%39 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: i1 loc(#loc14), %in_14: f32 loc(#loc15), %out: f32 loc(#loc1)):
      %76 = arith.select %in, %in_14, %cst_1 : f32 loc(#loc1)
      linalg.yield %76 : f32 loc(#loc1)
    } -> tensor<1x2x4x13x13xf32> loc(#loc1)
    %41 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc16)
    %42 = linalg.fill ins(%cst_0 : f32) outs(%41 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc16)
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%40 : tensor<1x2x4x13x13xf32>) outs(%42 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc16)):
      %76 = arith.maximumf %out, %in : f32 loc(#loc16)
      linalg.yield %76 : f32 loc(#loc16)
    } -> tensor<1x2x4x13xf32> loc(#loc16)
    %expanded_9 = tensor.expand_shape %43 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 13, 1] : tensor<1x2x4x13xf32> into tensor<1x2x4x13x1xf32> loc(#loc11)
    %44 = remat.stop_gradient %expanded_9 : tensor<1x2x4x13x1xf32> loc(#loc17)
    %45 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc18)
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<1x2x4x13x1xf32>) outs(%45 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc18)):
      linalg.yield %in : f32 loc(#loc18)
    } -> tensor<1x2x4x13x13xf32> loc(#loc18)
    %47 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc18)
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40, %46 : tensor<1x2x4x13x13xf32>, tensor<1x2x4x13x13xf32>) outs(%47 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc1), %in_14: f32 loc(#loc18), %out: f32 loc(#loc18)):
      %76 = arith.subf %in, %in_14 : f32 loc(#loc18)
      linalg.yield %76 : f32 loc(#loc18)
    } -> tensor<1x2x4x13x13xf32> loc(#loc18)
    %49 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc19)
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<1x2x4x13x13xf32>) outs(%49 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc19)):
      %76 = math.exp %in : f32 loc(#loc19)
      linalg.yield %76 : f32 loc(#loc19)
    } -> tensor<1x2x4x13x13xf32> loc(#loc19)
    %51 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc20)
    %52 = linalg.fill ins(%cst_3 : f32) outs(%51 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc20)
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%50 : tensor<1x2x4x13x13xf32>) outs(%52 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc20)):
      %76 = arith.addf %out, %in : f32 loc(#loc20)
      linalg.yield %76 : f32 loc(#loc20)
    } -> tensor<1x2x4x13xf32> loc(#loc20)
    %54 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc21)
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<1x2x4x13xf32>) outs(%54 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc21)):
      linalg.yield %in : f32 loc(#loc21)
    } -> tensor<1x2x4x13x13xf32> loc(#loc21)
    %56 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc21)
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%50, %55 : tensor<1x2x4x13x13xf32>, tensor<1x2x4x13x13xf32>) outs(%56 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc19), %in_14: f32 loc(#loc21), %out: f32 loc(#loc21)):
      %76 = arith.divf %in, %in_14 : f32 loc(#loc21)
      linalg.yield %76 : f32 loc(#loc21)
    } -> tensor<1x2x4x13x13xf32> loc(#loc21)
    %58 = tensor.empty() : tensor<2x4x8x13xf32> loc(#loc22)
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x13x4x8xf32>) outs(%58 : tensor<2x4x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc23), %out: f32 loc(#loc22)):
      linalg.yield %in : f32 loc(#loc22)
    } -> tensor<2x4x8x13xf32> loc(#loc22)
    %60 = tensor.empty() : tensor<2x4x13x1x13xf32> loc(#loc22)
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%57 : tensor<1x2x4x13x13xf32>) outs(%60 : tensor<2x4x13x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc21), %out: f32 loc(#loc22)):
      linalg.yield %in : f32 loc(#loc22)
    } -> tensor<2x4x13x1x13xf32> loc(#loc22)
    %collapsed_10 = tensor.collapse_shape %59 [[0, 1], [2], [3]] : tensor<2x4x8x13xf32> into tensor<8x8x13xf32> loc(#loc22)
    %collapsed_11 = tensor.collapse_shape %61 [[0, 1], [2], [3, 4]] : tensor<2x4x13x1x13xf32> into tensor<8x13x13xf32> loc(#loc22)
    %62 = tensor.empty() : tensor<8x8x13xf32> loc(#loc22)
    %63 = linalg.fill ins(%cst_3 : f32) outs(%62 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc22)
    %64 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<8x8x13xf32>, tensor<8x13x13xf32>) outs(%63 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc22)
    %expanded_12 = tensor.expand_shape %64 [[0, 1], [2], [3, 4]] output_shape [2, 4, 8, 1, 13] : tensor<8x8x13xf32> into tensor<2x4x8x1x13xf32> loc(#loc22)
    %65 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc24)
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12 : tensor<2x4x8x1x13xf32>) outs(%65 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc22), %out: f32 loc(#loc24)):
      linalg.yield %in : f32 loc(#loc24)
    } -> tensor<1x2x13x4x8xf32> loc(#loc24)
    %collapsed_13 = tensor.collapse_shape %66 [[0, 1], [2], [3], [4]] : tensor<1x2x13x4x8xf32> into tensor<2x13x4x8xf32> loc(#loc4)
    %67 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc25)
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_13, %arg3 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%67 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc4), %in_14: f32 loc(#loc26), %out: f32 loc(#loc25)):
      %76 = arith.subf %in, %in_14 : f32 loc(#loc25)
      linalg.yield %76 : f32 loc(#loc25)
    } -> tensor<2x13x4x8xf32> loc(#loc25)
    %69 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc27)
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%68 : tensor<2x13x4x8xf32>) outs(%69 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc25), %out: f32 loc(#loc27)):
      %76 = arith.mulf %in, %in : f32 loc(#loc27)
      linalg.yield %76 : f32 loc(#loc27)
    } -> tensor<2x13x4x8xf32> loc(#loc27)
    %71 = tensor.empty() : tensor<f32> loc(#loc28)
    %72 = linalg.fill ins(%cst_3 : f32) outs(%71 : tensor<f32>) -> tensor<f32> loc(#loc28)
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%70 : tensor<2x13x4x8xf32>) outs(%72 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc28), %out: f32 loc(#loc28)):
      %76 = arith.addf %out, %in : f32 loc(#loc28)
      linalg.yield %76 : f32 loc(#loc28)
    } -> tensor<f32> loc(#loc28)
    %74 = tensor.empty() : tensor<f32> loc(#loc0)
    %75 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%73 : tensor<f32>) outs(%74 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc28), %out: f32 loc(#loc0)):
      %76 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %76 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %75 : tensor<f32> loc(#loc29)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div"("attention_jax.py":121:20))
#loc1 = loc(callsite("select_n" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":19:12)))
#loc2 = loc("jit(loss)/vmap()/add"("attention_jax.py":19:12))
#loc3 = loc("jit(loss)/vmap()/mul"("attention_jax.py":19:12))
#loc4 = loc("jit(loss)/reshape"("attention_jax.py":19:12))
#loc5 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general"("attention_jax.py":19:12))
#loc6 = loc("operands[0]")
#loc7 = loc(callsite("iota" at "jit(loss)/vmap(jit(tril))"("attention_jax.py":19:12)))
#loc8 = loc(callsite("ge" at "jit(loss)/vmap(jit(tril))"("attention_jax.py":19:12)))
#loc9 = loc("jit(loss)/vmap()/and"("attention_jax.py":19:12))
#loc10 = loc(callsite("select_n" at "jit(loss)/vmap(jit(tril))"("attention_jax.py":19:12)))
#loc11 = loc("jit(loss)/vmap()/broadcast_in_dim"("attention_jax.py":19:12))
#loc12 = loc("jit(loss)/vmap()/le"("attention_jax.py":19:12))
#loc13 = loc("jit(loss)/vmap()/ge"("attention_jax.py":19:12))
#loc14 = loc(callsite("broadcast_in_dim" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":19:12)))
#loc15 = loc(callsite("transpose" at "jit(loss)/vmap(jit(_where))"("attention_jax.py":19:12)))
#loc16 = loc("jit(loss)/vmap()/reduce_max"("attention_jax.py":19:12))
#loc17 = loc("jit(loss)/vmap(stop_gradient)"("attention_jax.py":19:12))
#loc18 = loc("jit(loss)/vmap()/sub"("attention_jax.py":19:12))
#loc19 = loc("jit(loss)/vmap()/exp"("attention_jax.py":19:12))
#loc20 = loc("jit(loss)/vmap()/reduce_sum"("attention_jax.py":19:12))
#loc21 = loc("jit(loss)/vmap()/div"("attention_jax.py":19:12))
#loc22 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general"("attention_jax.py":19:12))
#loc23 = loc("operands[2]")
#loc24 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose"("attention_jax.py":19:12))
#loc25 = loc("jit(loss)/sub"("attention_jax.py":121:22))
#loc26 = loc("operands[3]")
#loc27 = loc("jit(loss)/integer_pow"("attention_jax.py":121:21))
#loc28 = loc("jit(loss)/reduce_sum"("attention_jax.py":121:20))
#loc29 = loc("jit(loss)"("attention_jax.py":123:9))
