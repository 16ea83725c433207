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
      %59 = arith.mulf %in, %cst_2 : f32 loc(#loc2)
      linalg.yield %59 : f32 loc(#loc2)
    } -> tensor<2x2x13x2x13xf32> loc(#loc2)
    %9 = tensor.empty() : tensor<13x13xi32> loc(#loc6)
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%9 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %59 = linalg.index 0 : index loc(#loc6)
      %60 = arith.index_cast %59 : index to i32 loc(#loc6)
      linalg.yield %60 : i32 loc(#loc6)
    } -> tensor<13x13xi32> loc(#loc6)
    %11 = tensor.empty() : tensor<13x13xi32> loc(#loc6)
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%11 : tensor<13x13xi32>) {
    ^bb0(%out: i32 loc(#loc6)):
      %59 = linalg.index 1 : index loc(#loc6)
      %60 = arith.index_cast %59 : index to i32 loc(#loc6)
      linalg.yield %60 : i32 loc(#loc6)
    } -> tensor<13x13xi32> loc(#loc6)
    %13 = tensor.empty() : tensor<13x13xi1> loc(#loc7)
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<13x13xi32>, tensor<13x13xi32>) outs(%13 : tensor<13x13xi1>) {
    ^bb0(%in: i32 loc(#loc6), %in_10: i32 loc(#loc6), %out: i1 loc(#loc7)):
      %59 = arith.cmpi sge, %in, %in_10 : i32 loc(#loc7)
      linalg.yield %59 : i1 loc(#loc7)
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
    ^bb0(%in: i1 loc(#loc10), %in_10: f32 loc(#loc11), %out: f32 loc(#loc1)):
      %59 = arith.select %in, %in_10, %cst_1 : f32 loc(#loc1)
      linalg.yield %59 : f32 loc(#loc1)
    } -> tensor<2x2x2x13x13xf32> loc(#loc1)
    %23 = tensor.empty() : tensor<2x2x2x13xf32> loc(#loc12)
    %24 = linalg.fill ins(%cst_0 : f32) outs(%23 : tensor<2x2x2x13xf32>) -> tensor<2x2x2x13xf32> loc(#loc12)
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<2x2x2x13x13xf32>) outs(%24 : tensor<2x2x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc12), %out: f32 loc(#loc12)):
      %59 = arith.maximumf %out, %in : f32 loc(#loc12)
      linalg.yield %59 : f32 loc(#loc12)
    } -> tensor<2x2x2x13xf32> loc(#loc12)
    %26 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc13)
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x2x2x13xf32>) outs(%26 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc14), %out: f32 loc(#loc13)):
      linalg.yield %in : f32 loc(#loc13)
    } -> tensor<2x2x2x13x13xf32> loc(#loc13)
    %28 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc13)
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22, %27 : tensor<2x2x2x13x13xf32>, tensor<2x2x2x13x13xf32>) outs(%28 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc1), %in_10: f32 loc(#loc13), %out: f32 loc(#loc13)):
      %59 = arith.subf %in, %in_10 : f32 loc(#loc13)
      linalg.yield %59 : f32 loc(#loc13)
    } -> tensor<2x2x2x13x13xf32> loc(#loc13)
    %30 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc15)
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x2x2x13x13xf32>) outs(%30 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc15)):
      %59 = math.exp %in : f32 loc(#loc15)
      linalg.yield %59 : f32 loc(#loc15)
    } -> tensor<2x2x2x13x13xf32> loc(#loc15)
    %32 = tensor.empty() : tensor<2x2x2x13xf32> loc(#loc16)
    %33 = linalg.fill ins(%cst_3 : f32) outs(%32 : tensor<2x2x2x13xf32>) -> tensor<2x2x2x13xf32> loc(#loc16)
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%31 : tensor<2x2x2x13x13xf32>) outs(%33 : tensor<2x2x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc16)):
      %59 = arith.addf %out, %in : f32 loc(#loc16)
      linalg.yield %59 : f32 loc(#loc16)
    } -> tensor<2x2x2x13xf32> loc(#loc16)
    %35 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc17)
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x2x2x13xf32>) outs(%35 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc17)):
      linalg.yield %in : f32 loc(#loc17)
    } -> tensor<2x2x2x13x13xf32> loc(#loc17)
    %37 = tensor.empty() : tensor<2x2x2x13x13xf32> loc(#loc17)
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%31, %36 : tensor<2x2x2x13x13xf32>, tensor<2x2x2x13x13xf32>) outs(%37 : tensor<2x2x2x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc15), %in_10: f32 loc(#loc17), %out: f32 loc(#loc17)):
      %59 = arith.divf %in, %in_10 : f32 loc(#loc17)
      linalg.yield %59 : f32 loc(#loc17)
    } -> tensor<2x2x2x13x13xf32> loc(#loc17)
    %39 = tensor.empty() : tensor<2x2x8x13xf32> loc(#loc18)
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x13x2x8xf32>) outs(%39 : tensor<2x2x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc19), %out: f32 loc(#loc18)):
      linalg.yield %in : f32 loc(#loc18)
    } -> tensor<2x2x8x13xf32> loc(#loc18)
    %41 = tensor.empty() : tensor<2x2x13x2x13xf32> loc(#loc18)
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x2x2x13x13xf32>) outs(%41 : tensor<2x2x13x2x13xf32>) {
    ^bb0(%in: f32 loc(#loc17), %out: f32 loc(#loc18)):
      linalg.yield %in : f32 loc(#loc18)
    } -> tensor<2x2x13x2x13xf32> loc(#loc18)
    %collapsed_6 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<2x2x8x13xf32> into tensor<4x8x13xf32> loc(#loc18)
    %collapsed_7 = tensor.collapse_shape %42 [[0, 1], [2], [3, 4]] : tensor<2x2x13x2x13xf32> into tensor<4x13x26xf32> loc(#loc18)
    %43 = tensor.empty() : tensor<4x8x26xf32> loc(#loc18)
    %44 = linalg.fill ins(%cst_3 : f32) outs(%43 : tensor<4x8x26xf32>) -> tensor<4x8x26xf32> loc(#loc18)
    %45 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<4x8x13xf32>, tensor<4x13x26xf32>) outs(%44 : tensor<4x8x26xf32>) -> tensor<4x8x26xf32> loc(#loc18)
    %expanded_8 = tensor.expand_shape %45 [[0, 1], [2], [3, 4]] output_shape [2, 2, 8, 2, 13] : tensor<4x8x26xf32> into tensor<2x2x8x2x13xf32> loc(#loc18)
    %46 = tensor.empty() : tensor<2x2x13x2x8xf32> loc(#loc20)
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<2x2x8x2x13xf32>) outs(%46 : tensor<2x2x13x2x8xf32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc20)):
      linalg.yield %in : f32 loc(#loc20)
    } -> tensor<2x2x13x2x8xf32> loc(#loc20)
    %48 = tensor.empty() : tensor<2x13x2x2x8xf32> loc(#loc21)
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<2x2x13x2x8xf32>) outs(%48 : tensor<2x13x2x2x8xf32>) {
    ^bb0(%in: f32 loc(#loc20), %out: f32 loc(#loc21)):
      linalg.yield %in : f32 loc(#loc21)
    } -> tensor<2x13x2x2x8xf32> loc(#loc21)
    %collapsed_9 = tensor.collapse_shape %49 [[0], [1], [2, 3], [4]] : tensor<2x13x2x2x8xf32> into tensor<2x13x4x8xf32> loc(#loc3)
    %50 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc22)
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_9, %arg3 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%50 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc3), %in_10: f32 loc(#loc23), %out: f32 loc(#loc22)):
      %59 = arith.subf %in, %in_10 : f32 loc(#loc22)
      linalg.yield %59 : f32 loc(#loc22)
    } -> tensor<2x13x4x8xf32> loc(#loc22)
    %52 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc24)
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%51 : tensor<2x13x4x8xf32>) outs(%52 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc22), %out: f32 loc(#loc24)):
      %59 = arith.mulf %in, %in : f32 loc(#loc24)
      linalg.yield %59 : f32 loc(#loc24)
    } -> tensor<2x13x4x8xf32> loc(#loc24)
    %54 = tensor.empty() : tensor<f32> loc(#loc25)
    %55 = linalg.fill ins(%cst_3 : f32) outs(%54 : tensor<f32>) -> tensor<f32> loc(#loc25)
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%53 : tensor<2x13x4x8xf32>) outs(%55 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc25), %out: f32 loc(#loc25)):
      %59 = arith.addf %out, %in : f32 loc(#loc25)
      linalg.yield %59 : f32 loc(#loc25)
    } -> tensor<f32> loc(#loc25)
    %57 = tensor.empty() : tensor<f32> loc(#loc0)
    %58 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%56 : tensor<f32>) outs(%57 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc25), %out: f32 loc(#loc0)):
      %59 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %59 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %58 : tensor<f32> loc(#loc26)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div")
#loc1 = loc(callsite("select_n" at "jit(loss)/vmap(jit(_where))"))
#loc2 = loc("jit(loss)/vmap()/mul")
#loc3 = loc("jit(loss)/reshape")
#loc4 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general")
#loc5 = loc("params['kg']")
#loc6 = loc(callsite("iota" at "jit(loss)/vmap(jit(tril))"))
#loc7 = loc(callsite("ge" at "jit(loss)/vmap(jit(tril))"))
#loc8 = loc("jit(loss)/vmap()/and")
#loc9 = loc(callsite("select_n" at "jit(loss)/vmap(jit(tril))"))
#loc10 = loc(callsite("broadcast_in_dim" at "jit(loss)/vmap(jit(_where))"))
#loc11 = loc(callsite("transpose" at "jit(loss)/vmap(jit(_where))"))
#loc12 = loc("jit(loss)/vmap()/reduce_max")
#loc13 = loc("jit(loss)/vmap()/sub")
#loc14 = loc("jit(loss)/vmap()/max")
#loc15 = loc("jit(loss)/vmap()/exp")
#loc16 = loc("jit(loss)/vmap()/reduce_sum")
#loc17 = loc("jit(loss)/vmap()/div")
#loc18 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general")
#loc19 = loc("params['vg']")
#loc20 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose")
#loc21 = loc("jit(loss)/vmap()/transpose")
#loc22 = loc("jit(loss)/sub")
#loc23 = loc("inputs[0]")
#loc24 = loc("jit(loss)/integer_pow")
#loc25 = loc("jit(loss)/reduce_sum")
#loc26 = loc("jit(loss)")
