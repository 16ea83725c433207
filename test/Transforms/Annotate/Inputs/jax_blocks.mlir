module @jit_loss {
  func.func @loss(%arg0: tensor<32x8xf32> {opt.param = "layers.0.down"}, %arg1: tensor<8x8xf32> {opt.param = "layers.0.k"}, %arg2: tensor<8x8xf32> {opt.param = "layers.0.q"}, %arg3: tensor<8x32xf32> {opt.param = "layers.0.up"}, %arg4: tensor<8x8xf32> {opt.param = "layers.0.v"}, %arg5: tensor<32x8xf32> {opt.param = "layers.1.down"}, %arg6: tensor<8x8xf32> {opt.param = "layers.1.k"}, %arg7: tensor<8x8xf32> {opt.param = "layers.1.q"}, %arg8: tensor<8x32xf32> {opt.param = "layers.1.up"}, %arg9: tensor<8x8xf32> {opt.param = "layers.1.v"}, %arg10: tensor<32x8xf32> {opt.param = "layers.2.down"}, %arg11: tensor<8x8xf32> {opt.param = "layers.2.k"}, %arg12: tensor<8x8xf32> {opt.param = "layers.2.q"}, %arg13: tensor<8x32xf32> {opt.param = "layers.2.up"}, %arg14: tensor<8x8xf32> {opt.param = "layers.2.v"}, %arg15: tensor<8x8xf32> {opt.param = "teacher"}, %arg16: tensor<12x8xf32> {remat.data = "x"}, %arg17: tensor<12x8xf32> {remat.data = "y"}) -> tensor<f32> {
    %cst = arith.constant 9.600000e+01 : f32 loc(#loc0)
    %cst_0 = arith.constant 0xFF800000 : f32 loc(unknown)
    %cst_1 = arith.constant -1.000000e+09 : f32 loc(unknown)
    %cst_2 = arith.constant 2.82842708 : f32 loc(unknown)
    %cst_3 = arith.constant 0.000000e+00 : f32 loc(unknown)
    %0 = tensor.empty() : tensor<12x8xf32> loc(#loc1)
    %1 = linalg.fill ins(%cst_3 : f32) outs(%0 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc1)
    %2 = linalg.matmul ins(%arg17, %arg15 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%1 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc1)
    %3 = tensor.empty() : tensor<12x8xf32> loc(#loc2)
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<12x8xf32>) outs(%3 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc1), %out: f32 loc(#loc2)):
      %167 = math.tanh %in : f32 loc(#loc2)
      linalg.yield %167 : f32 loc(#loc2)
    } -> tensor<12x8xf32> loc(#loc2)
    %5 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %6 = linalg.fill ins(%cst_3 : f32) outs(%5 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %7 = linalg.matmul ins(%arg16, %arg2 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%6 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %8 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %9 = linalg.fill ins(%cst_3 : f32) outs(%8 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %10 = linalg.matmul ins(%arg16, %arg1 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%9 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %11 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %12 = linalg.fill ins(%cst_3 : f32) outs(%11 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %13 = linalg.matmul ins(%arg16, %arg4 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%12 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %14 = tensor.empty() : tensor<8x12xf32> loc(#loc4)
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<12x8xf32>) outs(%14 : tensor<8x12xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<8x12xf32> loc(#loc4)
    %16 = tensor.empty() : tensor<12x12xf32> loc(#loc3)
    %17 = linalg.fill ins(%cst_3 : f32) outs(%16 : tensor<12x12xf32>) -> tensor<12x12xf32> loc(#loc3)
    %18 = linalg.matmul ins(%7, %15 : tensor<12x8xf32>, tensor<8x12xf32>) outs(%17 : tensor<12x12xf32>) -> tensor<12x12xf32> loc(#loc3)
    %19 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<12x12xf32>) outs(%19 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc5)):
      %167 = arith.divf %in, %cst_2 : f32 loc(#loc5)
      linalg.yield %167 : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %21 = tensor.empty() : tensor<12x12xi32> loc(unknown)
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%21 : tensor<12x12xi32>) {
    ^bb0(%out: i32 loc(unknown)):
      %167 = linalg.index 0 : index loc(unknown)
      %168 = arith.index_cast %167 : index to i32 loc(unknown)
      linalg.yield %168 : i32 loc(unknown)
    } -> tensor<12x12xi32> loc(unknown)
    %23 = tensor.empty() : tensor<12x12xi32> loc(unknown)
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%23 : tensor<12x12xi32>) {
    ^bb0(%out: i32 loc(unknown)):
      %167 = linalg.index 1 : index loc(unknown)
      %168 = arith.index_cast %167 : index to i32 loc(unknown)
      linalg.yield %168 : i32 loc(unknown)
    } -> tensor<12x12xi32> loc(unknown)
    %25 = tensor.empty() : tensor<12x12xi1> loc(unknown)
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %24 : tensor<12x12xi32>, tensor<12x12xi32>) outs(%25 : tensor<12x12xi1>) {
    ^bb0(%in: i32 loc(unknown), %in_4: i32 loc(unknown), %out: i1 loc(unknown)):
      %167 = arith.cmpi sge, %in, %in_4 : i32 loc(unknown)
      linalg.yield %167 : i1 loc(unknown)
    } -> tensor<12x12xi1> loc(unknown)
    %27 = tensor.empty() : tensor<12x12xf32> loc(unknown)
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%26, %20 : tensor<12x12xi1>, tensor<12x12xf32>) outs(%27 : tensor<12x12xf32>) {
    ^bb0(%in: i1 loc(unknown), %in_4: f32 loc(#loc5), %out: f32 loc(unknown)):
      %167 = arith.select %in, %in_4, %cst_1 : f32 loc(unknown)
      linalg.yield %167 : f32 loc(unknown)
    } -> tensor<12x12xf32> loc(unknown)
    %29 = tensor.empty() : tensor<12xf32> loc(#loc6)
    %30 = linalg.fill ins(%cst_0 : f32) outs(%29 : tensor<12xf32>) -> tensor<12xf32> loc(#loc6)
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%28 : tensor<12x12xf32>) outs(%30 : tensor<12xf32>) {
    ^bb0(%in: f32 loc(#loc6), %out: f32 loc(#loc6)):
      %167 = arith.maximumf %out, %in : f32 loc(#loc6)
      linalg.yield %167 : f32 loc(#loc6)
    } -> tensor<12xf32> loc(#loc6)
    %32 = tensor.empty() : tensor<12x12xf32> loc(#loc7)
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%31 : tensor<12xf32>) outs(%32 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc8), %out: f32 loc(#loc7)):
      linalg.yield %in : f32 loc(#loc7)
    } -> tensor<12x12xf32> loc(#loc7)
    %34 = tensor.empty() : tensor<12x12xf32> loc(#loc7)
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%28, %33 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%34 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(unknown), %in_4: f32 loc(#loc7), %out: f32 loc(#loc7)):
      %167 = arith.subf %in, %in_4 : f32 loc(#loc7)
      linalg.yield %167 : f32 loc(#loc7)
    } -> tensor<12x12xf32> loc(#loc7)
    %36 = tensor.empty() : tensor<12x12xf32> loc(#loc9)
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%35 : tensor<12x12xf32>) outs(%36 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc7), %out: f32 loc(#loc9)):
      %167 = math.exp %in : f32 loc(#loc9)
      linalg.yield %167 : f32 loc(#loc9)
    } -> tensor<12x12xf32> loc(#loc9)
    %38 = tensor.empty() : tensor<12xf32> loc(#loc10)
    %39 = linalg.fill ins(%cst_3 : f32) outs(%38 : tensor<12xf32>) -> tensor<12xf32> loc(#loc10)
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%37 : tensor<12x12xf32>) outs(%39 : tensor<12xf32>) {
    ^bb0(%in: f32 loc(#loc10), %out: f32 loc(#loc10)):
      %167 = arith.addf %out, %in : f32 loc(#loc10)
      linalg.yield %167 : f32 loc(#loc10)
    } -> tensor<12xf32> loc(#loc10)
    %41 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%40 : tensor<12xf32>) outs(%41 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc10), %out: f32 loc(#loc5)):
      linalg.yield %in : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %43 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%37, %42 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%43 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc9), %in_4: f32 loc(#loc5), %out: f32 loc(#loc5)):
      %167 = arith.divf %in, %in_4 : f32 loc(#loc5)
      linalg.yield %167 : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %45 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %46 = linalg.fill ins(%cst_3 : f32) outs(%45 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %47 = linalg.matmul ins(%44, %13 : tensor<12x12xf32>, tensor<12x8xf32>) outs(%46 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %48 = tensor.empty() : tensor<12x8xf32> loc(#loc11)
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg16, %47 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%48 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc12), %in_4: f32 loc(#loc3), %out: f32 loc(#loc11)):
      %167 = arith.addf %in, %in_4 : f32 loc(#loc11)
      linalg.yield %167 : f32 loc(#loc11)
    } -> tensor<12x8xf32> loc(#loc11)
    %50 = tensor.empty() : tensor<12x32xf32> loc(#loc13)
    %51 = linalg.fill ins(%cst_3 : f32) outs(%50 : tensor<12x32xf32>) -> tensor<12x32xf32> loc(#loc13)
    %52 = linalg.matmul ins(%49, %arg3 : tensor<12x8xf32>, tensor<8x32xf32>) outs(%51 : tensor<12x32xf32>) -> tensor<12x32xf32> loc(#loc13)
    %53 = tensor.empty() : tensor<12x32xf32> loc(#loc14)
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%52 : tensor<12x32xf32>) outs(%53 : tensor<12x32xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc14)):
      %167 = math.tanh %in : f32 loc(#loc14)
      linalg.yield %167 : f32 loc(#loc14)
    } -> tensor<12x32xf32> loc(#loc14)
    %55 = tensor.empty() : tensor<12x8xf32> loc(#loc13)
    %56 = linalg.fill ins(%cst_3 : f32) outs(%55 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc13)
    %57 = linalg.matmul ins(%54, %arg0 : tensor<12x32xf32>, tensor<32x8xf32>) outs(%56 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc13)
    %58 = tensor.empty() : tensor<12x8xf32> loc(#loc15)
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%49, %57 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%58 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc11), %in_4: f32 loc(#loc13), %out: f32 loc(#loc15)):
      %167 = arith.addf %in, %in_4 : f32 loc(#loc15)
      linalg.yield %167 : f32 loc(#loc15)
    } -> tensor<12x8xf32> loc(#loc15)
    %60 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %61 = linalg.fill ins(%cst_3 : f32) outs(%60 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %62 = linalg.matmul ins(%59, %arg7 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%61 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %63 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %64 = linalg.fill ins(%cst_3 : f32) outs(%63 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %65 = linalg.matmul ins(%59, %arg6 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%64 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %66 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %67 = linalg.fill ins(%cst_3 : f32) outs(%66 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %68 = linalg.matmul ins(%59, %arg9 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%67 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %69 = tensor.empty() : tensor<8x12xf32> loc(#loc4)
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%65 : tensor<12x8xf32>) outs(%69 : tensor<8x12xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<8x12xf32> loc(#loc4)
    %71 = tensor.empty() : tensor<12x12xf32> loc(#loc3)
    %72 = linalg.fill ins(%cst_3 : f32) outs(%71 : tensor<12x12xf32>) -> tensor<12x12xf32> loc(#loc3)
    %73 = linalg.matmul ins(%62, %70 : tensor<12x8xf32>, tensor<8x12xf32>) outs(%72 : tensor<12x12xf32>) -> tensor<12x12xf32> loc(#loc3)
    %74 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %75 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%73 : tensor<12x12xf32>) outs(%74 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc5)):
      %167 = arith.divf %in, %cst_2 : f32 loc(#loc5)
      linalg.yield %167 : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %76 = tensor.empty() : tensor<12x12xf32> loc(unknown)
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%26, %75 : tensor<12x12xi1>, tensor<12x12xf32>) outs(%76 : tensor<12x12xf32>) {
    ^bb0(%in: i1 loc(unknown), %in_4: f32 loc(#loc5), %out: f32 loc(unknown)):
      %167 = arith.select %in, %in_4, %cst_1 : f32 loc(unknown)
      linalg.yield %167 : f32 loc(unknown)
    } -> tensor<12x12xf32> loc(unknown)
    %78 = tensor.empty() : tensor<12xf32> loc(#loc6)
    %79 = linalg.fill ins(%cst_0 : f32) outs(%78 : tensor<12xf32>) -> tensor<12xf32> loc(#loc6)
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%77 : tensor<12x12xf32>) outs(%79 : tensor<12xf32>) {
    ^bb0(%in: f32 loc(#loc6), %out: f32 loc(#loc6)):
      %167 = arith.maximumf %out, %in : f32 loc(#loc6)
      linalg.yield %167 : f32 loc(#loc6)
    } -> tensor<12xf32> loc(#loc6)
    %81 = tensor.empty() : tensor<12x12xf32> loc(#loc7)
    %82 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%80 : tensor<12xf32>) outs(%81 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc8), %out: f32 loc(#loc7)):
      linalg.yield %in : f32 loc(#loc7)
    } -> tensor<12x12xf32> loc(#loc7)
    %83 = tensor.empty() : tensor<12x12xf32> loc(#loc7)
    %84 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%77, %82 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%83 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(unknown), %in_4: f32 loc(#loc7), %out: f32 loc(#loc7)):
      %167 = arith.subf %in, %in_4 : f32 loc(#loc7)
      linalg.yield %167 : f32 loc(#loc7)
    } -> tensor<12x12xf32> loc(#loc7)
    %85 = tensor.empty() : tensor<12x12xf32> loc(#loc9)
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%84 : tensor<12x12xf32>) outs(%85 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc7), %out: f32 loc(#loc9)):
      %167 = math.exp %in : f32 loc(#loc9)
      linalg.yield %167 : f32 loc(#loc9)
    } -> tensor<12x12xf32> loc(#loc9)
    %87 = tensor.empty() : tensor<12xf32> loc(#loc10)
    %88 = linalg.fill ins(%cst_3 : f32) outs(%87 : tensor<12xf32>) -> tensor<12xf32> loc(#loc10)
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%86 : tensor<12x12xf32>) outs(%88 : tensor<12xf32>) {
    ^bb0(%in: f32 loc(#loc10), %out: f32 loc(#loc10)):
      %167 = arith.addf %out, %in : f32 loc(#loc10)
      linalg.yield %167 : f32 loc(#loc10)
    } -> tensor<12xf32> loc(#loc10)
    %90 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %91 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%89 : tensor<12xf32>) outs(%90 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc10), %out: f32 loc(#loc5)):
      linalg.yield %in : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %92 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%86, %91 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%92 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc9), %in_4: f32 loc(#loc5), %out: f32 loc(#loc5)):
      %167 = arith.divf %in, %in_4 : f32 loc(#loc5)
      linalg.yield %167 : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %94 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %95 = linalg.fill ins(%cst_3 : f32) outs(%94 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %96 = linalg.matmul ins(%93, %68 : tensor<12x12xf32>, tensor<12x8xf32>) outs(%95 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %97 = tensor.empty() : tensor<12x8xf32> loc(#loc11)
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%59, %96 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%97 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc15), %in_4: f32 loc(#loc3), %out: f32 loc(#loc11)):
      %167 = arith.addf %in, %in_4 : f32 loc(#loc11)
      linalg.yield %167 : f32 loc(#loc11)
    } -> tensor<12x8xf32> loc(#loc11)
    %99 = tensor.empty() : tensor<12x32xf32> loc(#loc13)
    %100 = linalg.fill ins(%cst_3 : f32) outs(%99 : tensor<12x32xf32>) -> tensor<12x32xf32> loc(#loc13)
    %101 = linalg.matmul ins(%98, %arg8 : tensor<12x8xf32>, tensor<8x32xf32>) outs(%100 : tensor<12x32xf32>) -> tensor<12x32xf32> loc(#loc13)
    %102 = tensor.empty() : tensor<12x32xf32> loc(#loc14)
    %103 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%101 : tensor<12x32xf32>) outs(%102 : tensor<12x32xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc14)):
      %167 = math.tanh %in : f32 loc(#loc14)
      linalg.yield %167 : f32 loc(#loc14)
    } -> tensor<12x32xf32> loc(#loc14)
    %104 = tensor.empty() : tensor<12x8xf32> loc(#loc13)
    %105 = linalg.fill ins(%cst_3 : f32) outs(%104 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc13)
    %106 = linalg.matmul ins(%103, %arg5 : tensor<12x32xf32>, tensor<32x8xf32>) outs(%105 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc13)
    %107 = tensor.empty() : tensor<12x8xf32> loc(#loc15)
    %108 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%98, %106 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%107 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc11), %in_4: f32 loc(#loc13), %out: f32 loc(#loc15)):
      %167 = arith.addf %in, %in_4 : f32 loc(#loc15)
      linalg.yield %167 : f32 loc(#loc15)
    } -> tensor<12x8xf32> loc(#loc15)
    %109 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %110 = linalg.fill ins(%cst_3 : f32) outs(%109 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %111 = linalg.matmul ins(%108, %arg12 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%110 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %112 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %113 = linalg.fill ins(%cst_3 : f32) outs(%112 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %114 = linalg.matmul ins(%108, %arg11 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%113 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %115 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %116 = linalg.fill ins(%cst_3 : f32) outs(%115 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %117 = linalg.matmul ins(%108, %arg14 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%116 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %118 = tensor.empty() : tensor<8x12xf32> loc(#loc4)
    %119 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%114 : tensor<12x8xf32>) outs(%118 : tensor<8x12xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc4)):
      linalg.yield %in : f32 loc(#loc4)
    } -> tensor<8x12xf32> loc(#loc4)
    %120 = tensor.empty() : tensor<12x12xf32> loc(#loc3)
    %121 = linalg.fill ins(%cst_3 : f32) outs(%120 : tensor<12x12xf32>) -> tensor<12x12xf32> loc(#loc3)
    %122 = linalg.matmul ins(%111, %119 : tensor<12x8xf32>, tensor<8x12xf32>) outs(%121 : tensor<12x12xf32>) -> tensor<12x12xf32> loc(#loc3)
    %123 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %124 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%122 : tensor<12x12xf32>) outs(%123 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc5)):
      %167 = arith.divf %in, %cst_2 : f32 loc(#loc5)
      linalg.yield %167 : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %125 = tensor.empty() : tensor<12x12xf32> loc(unknown)
    %126 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%26, %124 : tensor<12x12xi1>, tensor<12x12xf32>) outs(%125 : tensor<12x12xf32>) {
    ^bb0(%in: i1 loc(unknown), %in_4: f32 loc(#loc5), %out: f32 loc(unknown)):
      %167 = arith.select %in, %in_4, %cst_1 : f32 loc(unknown)
      linalg.yield %167 : f32 loc(unknown)
    } -> tensor<12x12xf32> loc(unknown)
    %127 = tensor.empty() : tensor<12xf32> loc(#loc6)
    %128 = linalg.fill ins(%cst_0 : f32) outs(%127 : tensor<12xf32>) -> tensor<12xf32> loc(#loc6)
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%126 : tensor<12x12xf32>) outs(%128 : tensor<12xf32>) {
    ^bb0(%in: f32 loc(#loc6), %out: f32 loc(#loc6)):
      %167 = arith.maximumf %out, %in : f32 loc(#loc6)
      linalg.yield %167 : f32 loc(#loc6)
    } -> tensor<12xf32> loc(#loc6)
    %130 = tensor.empty() : tensor<12x12xf32> loc(#loc7)
    %131 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%129 : tensor<12xf32>) outs(%130 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc8), %out: f32 loc(#loc7)):
      linalg.yield %in : f32 loc(#loc7)
    } -> tensor<12x12xf32> loc(#loc7)
    %132 = tensor.empty() : tensor<12x12xf32> loc(#loc7)
    %133 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%126, %131 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%132 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(unknown), %in_4: f32 loc(#loc7), %out: f32 loc(#loc7)):
      %167 = arith.subf %in, %in_4 : f32 loc(#loc7)
      linalg.yield %167 : f32 loc(#loc7)
    } -> tensor<12x12xf32> loc(#loc7)
    %134 = tensor.empty() : tensor<12x12xf32> loc(#loc9)
    %135 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%133 : tensor<12x12xf32>) outs(%134 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc7), %out: f32 loc(#loc9)):
      %167 = math.exp %in : f32 loc(#loc9)
      linalg.yield %167 : f32 loc(#loc9)
    } -> tensor<12x12xf32> loc(#loc9)
    %136 = tensor.empty() : tensor<12xf32> loc(#loc10)
    %137 = linalg.fill ins(%cst_3 : f32) outs(%136 : tensor<12xf32>) -> tensor<12xf32> loc(#loc10)
    %138 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%135 : tensor<12x12xf32>) outs(%137 : tensor<12xf32>) {
    ^bb0(%in: f32 loc(#loc10), %out: f32 loc(#loc10)):
      %167 = arith.addf %out, %in : f32 loc(#loc10)
      linalg.yield %167 : f32 loc(#loc10)
    } -> tensor<12xf32> loc(#loc10)
    %139 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %140 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%138 : tensor<12xf32>) outs(%139 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc10), %out: f32 loc(#loc5)):
      linalg.yield %in : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %141 = tensor.empty() : tensor<12x12xf32> loc(#loc5)
    %142 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%135, %140 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%141 : tensor<12x12xf32>) {
    ^bb0(%in: f32 loc(#loc9), %in_4: f32 loc(#loc5), %out: f32 loc(#loc5)):
      %167 = arith.divf %in, %in_4 : f32 loc(#loc5)
      linalg.yield %167 : f32 loc(#loc5)
    } -> tensor<12x12xf32> loc(#loc5)
    %143 = tensor.empty() : tensor<12x8xf32> loc(#loc3)
    %144 = linalg.fill ins(%cst_3 : f32) outs(%143 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %145 = linalg.matmul ins(%142, %117 : tensor<12x12xf32>, tensor<12x8xf32>) outs(%144 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc3)
    %146 = tensor.empty() : tensor<12x8xf32> loc(#loc11)
    %147 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%108, %145 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%146 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc15), %in_4: f32 loc(#loc3), %out: f32 loc(#loc11)):
      %167 = arith.addf %in, %in_4 : f32 loc(#loc11)
      linalg.yield %167 : f32 loc(#loc11)
    } -> tensor<12x8xf32> loc(#loc11)
    %148 = tensor.empty() : tensor<12x32xf32> loc(#loc13)
    %149 = linalg.fill ins(%cst_3 : f32) outs(%148 : tensor<12x32xf32>) -> tensor<12x32xf32> loc(#loc13)
    %150 = linalg.matmul ins(%147, %arg13 : tensor<12x8xf32>, tensor<8x32xf32>) outs(%149 : tensor<12x32xf32>) -> tensor<12x32xf32> loc(#loc13)
    %151 = tensor.empty() : tensor<12x32xf32> loc(#loc14)
    %152 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%150 : tensor<12x32xf32>) outs(%151 : tensor<12x32xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc14)):
      %167 = math.tanh %in : f32 loc(#loc14)
      linalg.yield %167 : f32 loc(#loc14)
    } -> tensor<12x32xf32> loc(#loc14)
    %153 = tensor.empty() : tensor<12x8xf32> loc(#loc13)
    %154 = linalg.fill ins(%cst_3 : f32) outs(%153 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc13)
    %155 = linalg.matmul ins(%152, %arg10 : tensor<12x32xf32>, tensor<32x8xf32>) outs(%154 : tensor<12x8xf32>) -> tensor<12x8xf32> loc(#loc13)
    %156 = tensor.empty() : tensor<12x8xf32> loc(#loc15)
    %157 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%147, %155 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%156 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc11), %in_4: f32 loc(#loc13), %out: f32 loc(#loc15)):
      %167 = arith.addf %in, %in_4 : f32 loc(#loc15)
      linalg.yield %167 : f32 loc(#loc15)
    } -> tensor<12x8xf32> loc(#loc15)
    %158 = tensor.empty() : tensor<12x8xf32> loc(#loc16)
    %159 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%157, %4 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%158 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc15), %in_4: f32 loc(#loc2), %out: f32 loc(#loc16)):
      %167 = arith.subf %in, %in_4 : f32 loc(#loc16)
      linalg.yield %167 : f32 loc(#loc16)
    } -> tensor<12x8xf32> loc(#loc16)
    %160 = tensor.empty() : tensor<12x8xf32> loc(#loc17)
    %161 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%159 : tensor<12x8xf32>) outs(%160 : tensor<12x8xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc17)):
      %167 = arith.mulf %in, %in : f32 loc(#loc17)
      linalg.yield %167 : f32 loc(#loc17)
    } -> tensor<12x8xf32> loc(#loc17)
    %162 = tensor.empty() : tensor<f32> loc(#loc18)
    %163 = linalg.fill ins(%cst_3 : f32) outs(%162 : tensor<f32>) -> tensor<f32> loc(#loc18)
    %164 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%161 : tensor<12x8xf32>) outs(%163 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc18)):
      %167 = arith.addf %out, %in : f32 loc(#loc18)
      linalg.yield %167 : f32 loc(#loc18)
    } -> tensor<f32> loc(#loc18)
    %165 = tensor.empty() : tensor<f32> loc(#loc0)
    %166 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%164 : tensor<f32>) outs(%165 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc18), %out: f32 loc(#loc0)):
      %167 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %167 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %166 : tensor<f32> loc(#loc19)
  } loc(unknown)
} loc(unknown)#loc0 = loc("jit(loss)/div")
#loc1 = loc("jit(loss)/teacher/dot_general")
#loc2 = loc("jit(loss)/teacher/tanh")
#loc3 = loc("jit(loss)/checkpoint/attention/dot_general")
#loc4 = loc("jit(loss)/checkpoint/attention/transpose")
#loc5 = loc("jit(loss)/checkpoint/attention/div")
#loc6 = loc("jit(loss)/checkpoint/attention/reduce_max")
#loc7 = loc("jit(loss)/checkpoint/attention/sub")
#loc8 = loc("jit(loss)/checkpoint/attention/max")
#loc9 = loc("jit(loss)/checkpoint/attention/exp")
#loc10 = loc("jit(loss)/checkpoint/attention/reduce_sum")
#loc11 = loc("jit(loss)/checkpoint/attention/add")
#loc12 = loc("x")
#loc13 = loc("jit(loss)/checkpoint/mlp/dot_general")
#loc14 = loc("jit(loss)/checkpoint/mlp/tanh")
#loc15 = loc("jit(loss)/checkpoint/mlp/add")
#loc16 = loc("jit(loss)/sub")
#loc17 = loc("jit(loss)/integer_pow")
#loc18 = loc("jit(loss)/reduce_sum")
#loc19 = loc("jit(loss)")
