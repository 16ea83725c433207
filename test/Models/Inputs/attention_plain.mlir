module @jit_loss {
  func.func @loss(%arg0: tensor<2x13x4x8xf32>, %arg1: tensor<2x13x4x8xf32>, %arg2: tensor<2x13x4x8xf32>, %arg3: tensor<2x13x4x8xf32>) -> tensor<f32> {
    %cst = arith.constant 8.320000e+02 : f32 loc(#loc0)
    %cst_0 = arith.constant 0xFF800000 : f32 loc(unknown)
    %cst_1 = arith.constant 0.353553385 : f32 loc(#loc1)
    %cst_2 = arith.constant 0.000000e+00 : f32 loc(unknown)
    %expanded = tensor.expand_shape %arg1 [[0], [1], [2], [3, 4]] output_shape [2, 13, 4, 1, 8] : tensor<2x13x4x8xf32> into tensor<2x13x4x1x8xf32> loc(#loc2)
    %0 = tensor.empty() : tensor<2x4x13x1x8xf32> loc(#loc3)
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x13x4x1x8xf32>) outs(%0 : tensor<2x4x13x1x8xf32>) {
    ^bb0(%in: f32 loc(#loc2), %out: f32 loc(#loc3)):
      linalg.yield %in : f32 loc(#loc3)
    } -> tensor<2x4x13x1x8xf32> loc(#loc3)
    %2 = tensor.empty() : tensor<2x4x8x13xf32> loc(#loc3)
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x13x4x8xf32>) outs(%2 : tensor<2x4x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc4), %out: f32 loc(#loc3)):
      linalg.yield %in : f32 loc(#loc3)
    } -> tensor<2x4x8x13xf32> loc(#loc3)
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3, 4]] : tensor<2x4x13x1x8xf32> into tensor<8x13x8xf32> loc(#loc3)
    %collapsed_3 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x8x13xf32> into tensor<8x8x13xf32> loc(#loc3)
    %4 = tensor.empty() : tensor<8x13x13xf32> loc(#loc3)
    %5 = linalg.fill ins(%cst_2 : f32) outs(%4 : tensor<8x13x13xf32>) -> tensor<8x13x13xf32> loc(#loc3)
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x13x8xf32>, tensor<8x8x13xf32>) outs(%5 : tensor<8x13x13xf32>) -> tensor<8x13x13xf32> loc(#loc3)
    %expanded_4 = tensor.expand_shape %6 [[0, 1], [2], [3, 4]] output_shape [2, 4, 13, 1, 13] : tensor<8x13x13xf32> into tensor<2x4x13x1x13xf32> loc(#loc3)
    %7 = tensor.empty() : tensor<2x4x13x1x13xf32> loc(#loc1)
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x13x1x13xf32>) outs(%7 : tensor<2x4x13x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc3), %out: f32 loc(#loc1)):
      %44 = arith.mulf %in, %cst_1 : f32 loc(#loc1)
      linalg.yield %44 : f32 loc(#loc1)
    } -> tensor<2x4x13x1x13xf32> loc(#loc1)
    %9 = tensor.empty() : tensor<2x4x13x1xf32> loc(#loc5)
    %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<2x4x13x1xf32>) -> tensor<2x4x13x1xf32> loc(#loc5)
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x13x1x13xf32>) outs(%10 : tensor<2x4x13x1xf32>) {
    ^bb0(%in: f32 loc(#loc5), %out: f32 loc(#loc5)):
      %44 = arith.maximumf %out, %in : f32 loc(#loc5)
      linalg.yield %44 : f32 loc(#loc5)
    } -> tensor<2x4x13x1xf32> loc(#loc5)
    %expanded_5 = tensor.expand_shape %11 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 13, 1] : tensor<2x4x13x1xf32> into tensor<1x2x4x13x1xf32> loc(#loc6)
    %12 = remat.stop_gradient %expanded_5 : tensor<1x2x4x13x1xf32> loc(#loc7)
    %collapsed_6 = tensor.collapse_shape %8 [[0, 1, 2, 3, 4]] : tensor<2x4x13x1x13xf32> into tensor<1352xf32> loc(#loc8)
    %expanded_7 = tensor.expand_shape %collapsed_6 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 13, 13] : tensor<1352xf32> into tensor<1x2x4x13x13xf32> loc(#loc8)
    %13 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc9)
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<1x2x4x13x1xf32>) outs(%13 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc7), %out: f32 loc(#loc9)):
      linalg.yield %in : f32 loc(#loc9)
    } -> tensor<1x2x4x13x13xf32> loc(#loc9)
    %15 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc9)
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7, %14 : tensor<1x2x4x13x13xf32>, tensor<1x2x4x13x13xf32>) outs(%15 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc8), %in_12: f32 loc(#loc9), %out: f32 loc(#loc9)):
      %44 = arith.subf %in, %in_12 : f32 loc(#loc9)
      linalg.yield %44 : f32 loc(#loc9)
    } -> tensor<1x2x4x13x13xf32> loc(#loc9)
    %17 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc10)
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<1x2x4x13x13xf32>) outs(%17 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc9), %out: f32 loc(#loc10)):
      %44 = math.exp %in : f32 loc(#loc10)
      linalg.yield %44 : f32 loc(#loc10)
    } -> tensor<1x2x4x13x13xf32> loc(#loc10)
    %19 = tensor.empty() : tensor<1x2x4x13xf32> loc(#loc11)
    %20 = linalg.fill ins(%cst_2 : f32) outs(%19 : tensor<1x2x4x13xf32>) -> tensor<1x2x4x13xf32> loc(#loc11)
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<1x2x4x13x13xf32>) outs(%20 : tensor<1x2x4x13xf32>) {
    ^bb0(%in: f32 loc(#loc11), %out: f32 loc(#loc11)):
      %44 = arith.addf %out, %in : f32 loc(#loc11)
      linalg.yield %44 : f32 loc(#loc11)
    } -> tensor<1x2x4x13xf32> loc(#loc11)
    %22 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc12)
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<1x2x4x13xf32>) outs(%22 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc11), %out: f32 loc(#loc12)):
      linalg.yield %in : f32 loc(#loc12)
    } -> tensor<1x2x4x13x13xf32> loc(#loc12)
    %24 = tensor.empty() : tensor<1x2x4x13x13xf32> loc(#loc12)
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18, %23 : tensor<1x2x4x13x13xf32>, tensor<1x2x4x13x13xf32>) outs(%24 : tensor<1x2x4x13x13xf32>) {
    ^bb0(%in: f32 loc(#loc10), %in_12: f32 loc(#loc12), %out: f32 loc(#loc12)):
      %44 = arith.divf %in, %in_12 : f32 loc(#loc12)
      linalg.yield %44 : f32 loc(#loc12)
    } -> tensor<1x2x4x13x13xf32> loc(#loc12)
    %26 = tensor.empty() : tensor<2x4x8x13xf32> loc(#loc13)
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x13x4x8xf32>) outs(%26 : tensor<2x4x8x13xf32>) {
    ^bb0(%in: f32 loc(#loc14), %out: f32 loc(#loc13)):
      linalg.yield %in : f32 loc(#loc13)
    } -> tensor<2x4x8x13xf32> loc(#loc13)
    %28 = tensor.empty() : tensor<2x4x13x1x13xf32> loc(#loc13)
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<1x2x4x13x13xf32>) outs(%28 : tensor<2x4x13x1x13xf32>) {
    ^bb0(%in: f32 loc(#loc12), %out: f32 loc(#loc13)):
      linalg.yield %in : f32 loc(#loc13)
    } -> tensor<2x4x13x1x13xf32> loc(#loc13)
    %collapsed_8 = tensor.collapse_shape %27 [[0, 1], [2], [3]] : tensor<2x4x8x13xf32> into tensor<8x8x13xf32> loc(#loc13)
    %collapsed_9 = tensor.collapse_shape %29 [[0, 1], [2], [3, 4]] : tensor<2x4x13x1x13xf32> into tensor<8x13x13xf32> loc(#loc13)
    %30 = tensor.empty() : tensor<8x8x13xf32> loc(#loc13)
    %31 = linalg.fill ins(%cst_2 : f32) outs(%30 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc13)
    %32 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<8x8x13xf32>, tensor<8x13x13xf32>) outs(%31 : tensor<8x8x13xf32>) -> tensor<8x8x13xf32> loc(#loc13)
    %expanded_10 = tensor.expand_shape %32 [[0, 1], [2], [3, 4]] output_shape [2, 4, 8, 1, 13] : tensor<8x8x13xf32> into tensor<2x4x8x1x13xf32> loc(#loc13)
    %33 = tensor.empty() : tensor<1x2x13x4x8xf32> loc(#loc15)
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<2x4x8x1x13xf32>) outs(%33 : tensor<1x2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc13), %out: f32 loc(#loc15)):
      linalg.yield %in : f32 loc(#loc15)
    } -> tensor<1x2x13x4x8xf32> loc(#loc15)
    %collapsed_11 = tensor.collapse_shape %34 [[0, 1], [2], [3], [4]] : tensor<1x2x13x4x8xf32> into tensor<2x13x4x8xf32> loc(#loc2)
    %35 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc16)
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_11, %arg3 : tensor<2x13x4x8xf32>, tensor<2x13x4x8xf32>) outs(%35 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc2), %in_12: f32 loc(#loc17), %out: f32 loc(#loc16)):
      %44 = arith.subf %in, %in_12 : f32 loc(#loc16)
      linalg.yield %44 : f32 loc(#loc16)
    } -> tensor<2x13x4x8xf32> loc(#loc16)
    %37 = tensor.empty() : tensor<2x13x4x8xf32> loc(#loc18)
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x13x4x8xf32>) outs(%37 : tensor<2x13x4x8xf32>) {
    ^bb0(%in: f32 loc(#loc16), %out: f32 loc(#loc18)):
      %44 = arith.mulf %in, %in : f32 loc(#loc18)
      linalg.yield %44 : f32 loc(#loc18)
    } -> tensor<2x13x4x8xf32> loc(#loc18)
    %39 = tensor.empty() : tensor<f32> loc(#loc19)
    %40 = linalg.fill ins(%cst_2 : f32) outs(%39 : tensor<f32>) -> tensor<f32> loc(#loc19)
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%38 : tensor<2x13x4x8xf32>) outs(%40 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc19), %out: f32 loc(#loc19)):
      %44 = arith.addf %out, %in : f32 loc(#loc19)
      linalg.yield %44 : f32 loc(#loc19)
    } -> tensor<f32> loc(#loc19)
    %42 = tensor.empty() : tensor<f32> loc(#loc0)
    %43 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%41 : tensor<f32>) outs(%42 : tensor<f32>) {
    ^bb0(%in: f32 loc(#loc19), %out: f32 loc(#loc0)):
      %44 = arith.divf %in, %cst : f32 loc(#loc0)
      linalg.yield %44 : f32 loc(#loc0)
    } -> tensor<f32> loc(#loc0)
    return %43 : tensor<f32> loc(#loc20)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("jit(loss)/div"("attention_jax.py":121:20))
#loc1 = loc("jit(loss)/vmap()/mul"("attention_jax.py":15:12))
#loc2 = loc("jit(loss)/reshape"("attention_jax.py":15:12))
#loc3 = loc("jit(loss)/vmap(BTNH,BSNH->BNTS)/dot_general"("attention_jax.py":15:12))
#loc4 = loc("operands[0]")
#loc5 = loc("jit(loss)/vmap()/reduce_max"("attention_jax.py":15:12))
#loc6 = loc("jit(loss)/vmap()/broadcast_in_dim"("attention_jax.py":15:12))
#loc7 = loc("jit(loss)/vmap(stop_gradient)"("attention_jax.py":15:12))
#loc8 = loc("jit(loss)/vmap()/transpose"("attention_jax.py":15:12))
#loc9 = loc("jit(loss)/vmap()/sub"("attention_jax.py":15:12))
#loc10 = loc("jit(loss)/vmap()/exp"("attention_jax.py":15:12))
#loc11 = loc("jit(loss)/vmap()/reduce_sum"("attention_jax.py":15:12))
#loc12 = loc("jit(loss)/vmap()/div"("attention_jax.py":15:12))
#loc13 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/dot_general"("attention_jax.py":15:12))
#loc14 = loc("operands[2]")
#loc15 = loc("jit(loss)/vmap(BNTS,BSNH->BTNH)/transpose"("attention_jax.py":15:12))
#loc16 = loc("jit(loss)/sub"("attention_jax.py":121:22))
#loc17 = loc("operands[3]")
#loc18 = loc("jit(loss)/integer_pow"("attention_jax.py":121:21))
#loc19 = loc("jit(loss)/reduce_sum"("attention_jax.py":121:20))
#loc20 = loc("jit(loss)"("attention_jax.py":123:9))
