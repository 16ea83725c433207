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
      %75 = arith.mulf %in, %cst_2 : f32 loc(#loc3)
      linalg.yield %75 : f32 loc(#loc3)
    } -> tensor<2x4x13x1x13xf32> loc(#loc3)
    %9 = tensor.empty() : tensor<13x13xi32> loc(#loc7)
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%9 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc7)):
      %75 = linalg.index 0 : index loc(#loc7)
      %76 = arith.index_cast %75 : index to i32 loc(#loc7)
      linalg.yield %76 : i32 loc(#loc7)
    } -> tensor<13x13xi32> loc(#loc7)
    %11 = tensor.empty() : tensor<13x13xi32> loc(#loc7)
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%11 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc7)):
      %75 = linalg.index 1 : index loc(#loc7)
      %76 = arith.index_cast %75 : index to i32 loc(#loc7)
      linalg.yield %76 : i32 loc(#loc7)
    } -> tensor<13x13xi32> loc(#loc7)
    %13 = tensor.empty() : tensor<13x13xi1> loc(#loc8)
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%13 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc7), %in_13: i32 loc(#loc7), %out: i1 loc(#loc8)):
      %75 = arith.cmpi sge, %in, %in_13 : i32 loc(#loc8)
      linalg.yield %75 : i1 loc(#loc8)
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
      %75 = arith.addi %in, %c5_i32 : i32 loc(#loc2)
      linalg.yield %75 : i32 loc(#loc2)
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
    ^bb0(%in: i32 loc(#loc12), %in_13: i32 loc(#loc12), %out: i1 loc(#loc12)):
      %75 = arith.cmpi sle, %in, %in_13 : i32 loc(#loc12)
      linalg.yield %75 : i1 loc(#loc12)
    } -> tensor<13x13xi1> loc(#loc12)
    %27 = tensor.empty() : tensor<13x13xi32> loc(#loc13)
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<13xi32>) outs(%27 : tensor<13x13xi32>) {
    ^bb0(%in: i32 loc(unknown), %out: i32 loc(#loc13)):
      linalg.yield %in : i32 loc(#loc13)
    } -> tensor<13x13xi32> loc(#loc13)
    %29 = tensor.empty() : tensor<13x13xi1> loc(#loc13)
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %28 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%29 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc12), %in_13: i32 loc(#loc13), %out: i1 loc(#loc13)):
      %75 = arith.cmpi sge, %in, %in_13 : i32 loc(#loc13)
      linalg.yield %75 : i1 loc(#loc13)
    } -> tensor<13x13xi1> loc(#loc13)
    %31 = tensor.empty() : tensor<13x13xi1> loc(#loc9)
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%30, %26 : tensor<13x13xi1>, tensor<13x13xi1>) outs(%31 : tensor<13x13xi1>) {
    ^bb0(%in: i1 loc(#loc13), %in_13: i1 loc(#loc12), %out: i1 loc(#loc9)):
      %75 = arith.andi %in, %in_13 : i1 loc(#loc9)
      linalg.yield %75 : i1 loc(#loc9)
    } -> tensor<13x13xi1> loc(#loc9)
    %33 = tensor.empty() : tensor<2x4x13x13xi1> loc(#loc9)
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<13x13xi1>) outs(%33 : tensor<2x4x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc9), %out: i1 loc(#loc9)):
      linalg.yield %in : i1 loc(#loc9)
    } -> tensor<2x4x13x13xi1> loc(#loc9)
    %35 = tensor.empty() : tensor<2x4x13x13xi1> loc(#loc9)
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %34 : tensor<2x4x13x13xi1>, tensor<2x4x13x13xi1>) outs(%35 : tensor<2x4x13x13xi1>) {
    ^bb0(%in: i1 loc(#loc9), %in_13: i1 loc(#loc9), %out: i1 loc(#loc9)):
      %75 = arith.andi %in, %in_13 : i1 loc(#loc9)
      linalg.yield %75 : i1 loc(#loc9)
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
    ^bb0(%in: i1 loc(#loc14), %in_13: f32 loc(#loc15), %out: f32 loc(#loc1)):
      %75 = arith.select %in, %in_13, %cst_1 : f32 loc(#loc1)
      linalg.yield %75 : f32 loc(#loc1)
    } -> tensor<1x2x4x13x13xf32> loc(#loc1)
    %41 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc16)
    %42 = linalg.fill ins(%cst_0 : f32) outs(%41 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc16)
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%40 : tensor<1x2x4x13x13xf32>) outs(%42 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc16)):
      %75 = arith.maximumf %out, %in : f32 loc(#loc16)
      linalg.yield %75 : f32 loc(#loc16)
    } -> tensor<1x2x4x13xf32> loc(#loc16)
    %44 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc17)
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<1x2x4x13xf32>) outs(%44 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc17)):
      linalg.yield %in : f32 loc(#loc17)
    } -> tensor<1x2x4x13x13xf32> loc(#loc17)
    %46 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc17)
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40, %45 : tensor<1x2x4x13x13xf32>, tensor<1x2x4x13x13xf32>) outs(%46 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc1), %in_13: f32 loc(#loc17), %out: f32 loc(#loc17)):
      %75 = arith.subf %in, %in_13 : f32 loc(#loc17)
      linalg.yield %75 : f32 loc(#loc17)
    } -> tensor<1x2x4x13x13xf32> loc(#loc17)
    %48 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc19)
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<1x2x4x13x13xf32>) outs(%48 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc19)):
      %75 = math.exp %in : f32 loc(#loc19)
      linalg.yield %75 : f32 loc(#loc19)
    } -> tensor<1x2x4x13x13xf32> loc(#loc19)
    %50 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc20)
    %51 = linalg.fill ins(%cst_3 : f32) outs(%50 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc20)
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%49 : tensor<1x2x4x13x13xf32>) outs(%51 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc20)):
      %75 = arith.addf %out, %in : f32 loc(#loc20)
      linalg.yield %75 : f32 loc(#loc20)
    } -> tensor<1x2x4x13xf32> loc(#loc20)
    %53 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc21)
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<1x2x4x13xf32>) outs(%53 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc21)):
      linalg.yield %in : f32 loc(#loc21)
    } -> tensor<1x2x4x13x13xf32> loc(#loc21)
    %55 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc21)
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%49, %54 : tensor<1x2x4x13x13xf32>, tensor<1x2x4x13x13xf32>) outs(%55 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc19), %in_13: f32 loc(#loc21), %out: f32 loc(#loc21)):
      %75 = arith.divf %in, %in_13 : f32 loc(#loc21)
      linalg.yield %75 : f32 loc(#loc21)
    } -> tensor<1x2x4x13x13xf32> loc(#loc21)
    %57 = tensor.empty() : tensor<2x4x8x13xf32> loc(#loc22)
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x13x4x8xf32>) outs(%57 : tensor<2x4x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc23), %out: f32 loc(#loc22)):
      linalg.yield %in : f32 loc(#loc22)
    } -> tensor<2x4x8x13xf32> loc(#loc22)
    %59 = tensor.empty() : tensor<2x4x13x1x13xf32> loc(#loc22)
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%56 : tensor<1x2x4x13x13xf32>) outs(%59 : tensor<2x4x13x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc21), %out: f32 loc(#loc22)):
      linalg.yield %in : f32 loc(#loc22)
    } -> tensor<2x4x13x1x13xf32> loc(#loc22)
    %collapsed_9 = tensor.collapse_shape %58 [[0, 1], [2], [3]] : tensor<2x4x8x13xf32> into tensor<8x8x13xf32> loc(#loc22)
    %collapsed_10 = tensor.collapse_shape %60 [[0, 1], [2], [3, 4]] : tensor<2x4x13x1x13xf32> into tensor<8x13x13xf32> loc(#loc22)
    %61 = tensor.empty() : tensor<8x8x13xf32> loc(#loc22)
    %62 = linalg.fill ins(%cst_3 : f32) outs(%61 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc22)
    %63 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<8x8x13xf32>, tensor<8x13x13xf32>) outs(%62 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc22)
    %expanded_11 = tensor.expand_shape %63 [[0, 1], [2], [3, 4]] output_shape [2, 4, 8, 1, 13] : tensor<8x8x13xf32> into tensor<2x4x8x1x13xf32> loc(#loc22)
    %64 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc24)
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<2x4x8x1x13xf32>) outs(%64 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc22), %out: f32 loc(#loc24)):
      linalg.yield %in : f32 loc(#loc24)
    } -> tensor<1x2x13x4x8xf32> loc(#loc24)
    %collapsed_12 = tensor.collapse_shape %65 [[0, 1], [2], [3], [4]] : tensor<1x2x13x4x8xf32> into tensor<2x13x4x8xf32> loc(#loc4)
    %66 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc25)
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_12, %arg3 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%66 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc4), %in_13: f32 loc(#loc26), %out: f32 loc(#loc25)):
      %75 = arith.subf %in, %in_13 : f32 loc(#loc25)
      linalg.yield %75 : f32 loc(#loc25)
    } -> tensor<2x13x4x8xf32> loc(#loc25)
    %68 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc27)
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%67 : tensor<2x13x4x8xf32>) outs(%68 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc25), %out: f32 loc(#loc27)):
      %75 = arith.mulf %in, %in : f32 loc(#loc27)
      linalg.yield %75 : f32 loc(#loc27)
    } -> tensor<2x13x4x8xf32> loc(#loc27)
    %70 = tensor.empty() : tensor<f32> loc(#loc28)
    %71 = linalg.fill ins(%cst_3 : f32) outs(%70 : tensor<f32>) -> tensor<f32> loc(#loc28)
    %72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%69 : tensor<2x13x4x8xf32>) outs(%71 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc28), %out: f32 loc(#loc28)):
      %75 = arith.addf %out, %in : f32 loc(#loc28)
      linalg.yield %75 : f32 loc(#loc28)
    } -> tensor<f32> loc(#loc28)
    %73 = tensor.empty() : tensor<f32> loc(#loc0)
    %74 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%72 : tensor<f32>) outs(%73 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc28), %out: f32 loc(#loc0)):
      %75 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %75 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %74 : tensor<f32> loc(#loc29)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div")
#loc1 = loc(callsite("select_n" at "jit(loss)/vmap(jit(_where))"))
#loc2 = loc("jit(loss)/vmap()/add")
#loc3 = loc("jit(loss)/vmap()/mul")
#loc4 = loc("jit(loss)/reshape")
#loc5 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general")
#loc6 = loc("params['k']")
#loc7 = loc(callsite("iota" at "jit(loss)/vmap(jit(tril))"))
#loc8 = loc(callsite("ge" at "jit(loss)/vmap(jit(tril))"))
#loc9 = loc("jit(loss)/vmap()/and")
#loc10 = loc(callsite("select_n" at "jit(loss)/vmap(jit(tril))"))
#loc11 = loc("jit(loss)/vmap()/broadcast_in_dim")
#loc12 = loc("jit(loss)/vmap()/le")
#loc13 = loc("jit(loss)/vmap()/ge")
#loc14 = loc(callsite("broadcast_in_dim" at "jit(loss)/vmap(jit(_where))"))
#loc15 = loc(callsite("transpose" at "jit(loss)/vmap(jit(_where))"))
#loc16 = loc("jit(loss)/vmap()/reduce_max")
#loc17 = loc("jit(loss)/vmap()/sub")
#loc18 = loc("jit(loss)/vmap()/max")
#loc19 = loc("jit(loss)/vmap()/exp")
#loc20 = loc("jit(loss)/vmap()/reduce_sum")
#loc21 = loc("jit(loss)/vmap()/div")
#loc22 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general")
#loc23 = loc("params['v']")
#loc24 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose")
#loc25 = loc("jit(loss)/sub")
#loc26 = loc("inputs[0]")
#loc27 = loc("jit(loss)/integer_pow")
#loc28 = loc("jit(loss)/reduce_sum")
#loc29 = loc("jit(loss)")
