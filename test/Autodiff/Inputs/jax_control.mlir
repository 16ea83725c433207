// The losses of jax_control.py, exported by JAX 0.10 through StableHLO and `iree-compile --compile-to=input`.

func.func @cond(%arg0: tensor<3x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}, %arg2: tensor<f64>) -> tensor<f64> {
  %c0_i32 = arith.constant 0 : i32
  %cst = arith.constant 0.000000e+00 : f64
  %0 = tensor.empty() : tensor<i1>
  %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2 : tensor<f64>) outs(%0 : tensor<i1>) {
  ^bb0(%in: f64, %out: i1):
    %10 = arith.cmpf ogt, %in, %cst : f64
    linalg.yield %10 : i1
  } -> tensor<i1>
  %2 = tensor.empty() : tensor<i32>
  %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%1 : tensor<i1>) outs(%2 : tensor<i32>) {
  ^bb0(%in: i1, %out: i32):
    %10 = arith.extui %in : i1 to i32
    linalg.yield %10 : i32
  } -> tensor<i32>
  %4 = tensor.empty() : tensor<i1>
  %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%3 : tensor<i32>) outs(%4 : tensor<i1>) {
  ^bb0(%in: i32, %out: i1):
    %10 = arith.cmpi eq, %in, %c0_i32 : i32
    linalg.yield %10 : i1
  } -> tensor<i1>
  %extracted = tensor.extract %5[] : tensor<i1>
  %6 = scf.if %extracted -> (tensor<3xf64>) {
    %10 = tensor.empty() : tensor<3xf64>
    %11 = linalg.fill ins(%cst : f64) outs(%10 : tensor<3xf64>) -> tensor<3xf64>
    %12 = linalg.matvec ins(%arg0, %arg1 : tensor<3x4xf64>, tensor<4xf64>) outs(%11 : tensor<3xf64>) -> tensor<3xf64>
    %13 = tensor.empty() : tensor<3xf64>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<3xf64>) outs(%13 : tensor<3xf64>) {
    ^bb0(%in: f64, %out: f64):
      %15 = math.exp %in : f64
      linalg.yield %15 : f64
    } -> tensor<3xf64>
    scf.yield %14 : tensor<3xf64>
  } else {
    %10 = tensor.empty() : tensor<3x4xf64>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<3x4xf64>) outs(%10 : tensor<3x4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %15 = math.sin %in : f64
      linalg.yield %15 : f64
    } -> tensor<3x4xf64>
    %12 = tensor.empty() : tensor<3xf64>
    %13 = linalg.fill ins(%cst : f64) outs(%12 : tensor<3xf64>) -> tensor<3xf64>
    %14 = linalg.matvec ins(%11, %arg1 : tensor<3x4xf64>, tensor<4xf64>) outs(%13 : tensor<3xf64>) -> tensor<3xf64>
    scf.yield %14 : tensor<3xf64>
  }
  %7 = tensor.empty() : tensor<f64>
  %8 = linalg.fill ins(%cst : f64) outs(%7 : tensor<f64>) -> tensor<f64>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%6 : tensor<3xf64>) outs(%8 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %10 = arith.addf %out, %in : f64
    linalg.yield %10 : f64
  } -> tensor<f64>
  return %9 : tensor<f64>
}

func.func @switch(%arg0: tensor<3x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}, %arg2: tensor<i64>) -> tensor<f64> {
  %cst = arith.constant 2.000000e+00 : f64
  %c1_i32 = arith.constant 1 : i32
  %cst_0 = arith.constant 0.000000e+00 : f64
  %c2_i32 = arith.constant 2 : i32
  %c0_i32 = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<i32>
  %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2 : tensor<i64>) outs(%0 : tensor<i32>) {
  ^bb0(%in: i64, %out: i32):
    %10 = arith.trunci %in : i64 to i32
    linalg.yield %10 : i32
  } -> tensor<i32>
  %2 = tensor.empty() : tensor<i32>
  %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%1 : tensor<i32>) outs(%2 : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %10 = arith.maxsi %in, %c0_i32 : i32
    %11 = arith.minsi %10, %c2_i32 : i32
    linalg.yield %11 : i32
  } -> tensor<i32>
  %4 = tensor.empty() : tensor<i1>
  %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%3 : tensor<i32>) outs(%4 : tensor<i1>) {
  ^bb0(%in: i32, %out: i1):
    %10 = arith.cmpi eq, %in, %c0_i32 : i32
    linalg.yield %10 : i1
  } -> tensor<i1>
  %extracted = tensor.extract %5[] : tensor<i1>
  %6 = scf.if %extracted -> (tensor<3xf64>) {
    %10 = tensor.empty() : tensor<3x4xf64>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<3x4xf64>) outs(%10 : tensor<3x4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %15 = math.sin %in : f64
      linalg.yield %15 : f64
    } -> tensor<3x4xf64>
    %12 = tensor.empty() : tensor<3xf64>
    %13 = linalg.fill ins(%cst_0 : f64) outs(%12 : tensor<3xf64>) -> tensor<3xf64>
    %14 = linalg.matvec ins(%11, %arg1 : tensor<3x4xf64>, tensor<4xf64>) outs(%13 : tensor<3xf64>) -> tensor<3xf64>
    scf.yield %14 : tensor<3xf64>
  } else {
    %10 = tensor.empty() : tensor<i1>
    %11 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%3 : tensor<i32>) outs(%10 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %13 = arith.cmpi eq, %in, %c1_i32 : i32
      linalg.yield %13 : i1
    } -> tensor<i1>
    %extracted_1 = tensor.extract %11[] : tensor<i1>
    %12 = scf.if %extracted_1 -> (tensor<3xf64>) {
      %13 = tensor.empty() : tensor<3xf64>
      %14 = linalg.fill ins(%cst_0 : f64) outs(%13 : tensor<3xf64>) -> tensor<3xf64>
      %15 = linalg.matvec ins(%arg0, %arg1 : tensor<3x4xf64>, tensor<4xf64>) outs(%14 : tensor<3xf64>) -> tensor<3xf64>
      %16 = tensor.empty() : tensor<3xf64>
      %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%15 : tensor<3xf64>) outs(%16 : tensor<3xf64>) {
      ^bb0(%in: f64, %out: f64):
        %18 = math.exp %in : f64
        linalg.yield %18 : f64
      } -> tensor<3xf64>
      scf.yield %17 : tensor<3xf64>
    } else {
      %extracted_slice = tensor.extract_slice %arg0[0, 0] [3, 1] [1, 1] : tensor<3x4xf64> to tensor<3x1xf64>
      %collapsed = tensor.collapse_shape %extracted_slice [[0, 1]] : tensor<3x1xf64> into tensor<3xf64>
      %13 = tensor.empty() : tensor<3xf64>
      %14 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed : tensor<3xf64>) outs(%13 : tensor<3xf64>) {
      ^bb0(%in: f64, %out: f64):
        %15 = arith.mulf %in, %cst : f64
        linalg.yield %15 : f64
      } -> tensor<3xf64>
      scf.yield %14 : tensor<3xf64>
    }
    scf.yield %12 : tensor<3xf64>
  }
  %7 = tensor.empty() : tensor<f64>
  %8 = linalg.fill ins(%cst_0 : f64) outs(%7 : tensor<f64>) -> tensor<f64>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%6 : tensor<3xf64>) outs(%8 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %10 = arith.addf %out, %in : f64
    linalg.yield %10 : f64
  } -> tensor<f64>
  return %9 : tensor<f64>
}

func.func @scan(%arg0: tensor<4x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %cst = arith.constant 0.000000e+00 : f64
  %c5 = arith.constant 5 : index
  %c0 = arith.constant 0 : index
  %c1_i64 = arith.constant 1 : i64
  %c6_i64 = arith.constant 6 : i64
  %c0_i64 = arith.constant 0 : i64
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<6xf64>
  %0 = tensor.empty() : tensor<6xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<6xf64>) {
  ^bb0(%out: f64):
    %6 = linalg.index 0 : index
    %7 = arith.index_cast %6 : index to i64
    %8 = arith.sitofp %7 : i64 to f64
    linalg.yield %8 : f64
  } -> tensor<6xf64>
  %2:2 = scf.for %arg2 = %c0_i64 to %c6_i64 step %c1_i64 iter_args(%arg3 = %arg1, %arg4 = %cst_0) -> (tensor<4xf64>, tensor<6xf64>)  : i64 {
    %6 = arith.index_cast %arg2 : i64 to index
    %7 = arith.maxsi %6, %c0 : index
    %8 = arith.minsi %7, %c5 : index
    %extracted_slice = tensor.extract_slice %1[%8] [1] [1] : tensor<6xf64> to tensor<1xf64>
    %collapsed = tensor.collapse_shape %extracted_slice [] : tensor<1xf64> into tensor<f64>
    %9 = tensor.empty() : tensor<4xf64>
    %10 = linalg.fill ins(%cst : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
    %11 = linalg.matvec ins(%arg0, %arg3 : tensor<4x4xf64>, tensor<4xf64>) outs(%10 : tensor<4xf64>) -> tensor<4xf64>
    %12 = tensor.empty() : tensor<4xf64>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed : tensor<f64>) outs(%12 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      linalg.yield %in : f64
    } -> tensor<4xf64>
    %14 = tensor.empty() : tensor<4xf64>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%11, %13 : tensor<4xf64>, tensor<4xf64>) outs(%14 : tensor<4xf64>) {
    ^bb0(%in: f64, %in_1: f64, %out: f64):
      %24 = arith.addf %in, %in_1 : f64
      linalg.yield %24 : f64
    } -> tensor<4xf64>
    %16 = tensor.empty() : tensor<4xf64>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%15 : tensor<4xf64>) outs(%16 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %24 = math.tanh %in : f64
      linalg.yield %24 : f64
    } -> tensor<4xf64>
    %18 = tensor.empty() : tensor<f64>
    %19 = linalg.fill ins(%cst : f64) outs(%18 : tensor<f64>) -> tensor<f64>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%arg3 : tensor<4xf64>) outs(%19 : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %24 = arith.addf %out, %in : f64
      linalg.yield %24 : f64
    } -> tensor<f64>
    %expanded = tensor.expand_shape %20 [] output_shape [1] : tensor<f64> into tensor<1xf64>
    %21 = arith.index_cast %arg2 : i64 to index
    %22 = arith.maxsi %21, %c0 : index
    %23 = arith.minsi %22, %c5 : index
    %inserted_slice = tensor.insert_slice %expanded into %arg4[%23] [1] [1] : tensor<1xf64> into tensor<6xf64>
    scf.yield %17, %inserted_slice : tensor<4xf64>, tensor<6xf64>
  }
  %3 = tensor.empty() : tensor<f64>
  %4 = linalg.fill ins(%cst : f64) outs(%3 : tensor<f64>) -> tensor<f64>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%2#0 : tensor<4xf64>) outs(%4 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %6 = arith.addf %out, %in : f64
    linalg.yield %6 : f64
  } -> tensor<f64>
  return %5 : tensor<f64>
}

func.func @scan_stacks(%arg0: tensor<4x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %cst = arith.constant 0.000000e+00 : f64
  %c3 = arith.constant 3 : index
  %c0 = arith.constant 0 : index
  %cst_0 = arith.constant 5.000000e-01 : f64
  %c1_i64 = arith.constant 1 : i64
  %c4_i64 = arith.constant 4 : i64
  %c0_i64 = arith.constant 0 : i64
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<4x4xf64>
  %0 = tensor.empty() : tensor<4x4xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<4x4xf64>) outs(%0 : tensor<4x4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %13 = arith.mulf %in, %cst_0 : f64
    linalg.yield %13 : f64
  } -> tensor<4x4xf64>
  %2:2 = scf.for %arg2 = %c0_i64 to %c4_i64 step %c1_i64 iter_args(%arg3 = %arg1, %arg4 = %cst_1) -> (tensor<4xf64>, tensor<4x4xf64>)  : i64 {
    %13 = arith.index_cast %arg2 : i64 to index
    %14 = arith.maxsi %13, %c0 : index
    %15 = arith.minsi %14, %c3 : index
    %extracted_slice = tensor.extract_slice %1[%15, 0] [1, 4] [1, 1] : tensor<4x4xf64> to tensor<1x4xf64>
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1]] : tensor<1x4xf64> into tensor<4xf64>
    %16 = tensor.empty() : tensor<4xf64>
    %17 = linalg.fill ins(%cst : f64) outs(%16 : tensor<4xf64>) -> tensor<4xf64>
    %18 = linalg.matvec ins(%arg0, %arg3 : tensor<4x4xf64>, tensor<4xf64>) outs(%17 : tensor<4xf64>) -> tensor<4xf64>
    %19 = tensor.empty() : tensor<4xf64>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%18, %collapsed : tensor<4xf64>, tensor<4xf64>) outs(%19 : tensor<4xf64>) {
    ^bb0(%in: f64, %in_2: f64, %out: f64):
      %30 = arith.addf %in, %in_2 : f64
      linalg.yield %30 : f64
    } -> tensor<4xf64>
    %21 = tensor.empty() : tensor<4xf64>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%20 : tensor<4xf64>) outs(%21 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %30 = math.tanh %in : f64
      linalg.yield %30 : f64
    } -> tensor<4xf64>
    %23 = tensor.empty() : tensor<4xf64>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg3 : tensor<4xf64>) outs(%23 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %30 = math.sin %in : f64
      linalg.yield %30 : f64
    } -> tensor<4xf64>
    %25 = tensor.empty() : tensor<1x4xf64>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<4xf64>) outs(%25 : tensor<1x4xf64>) {
    ^bb0(%in: f64, %out: f64):
      linalg.yield %in : f64
    } -> tensor<1x4xf64>
    %27 = arith.index_cast %arg2 : i64 to index
    %28 = arith.maxsi %27, %c0 : index
    %29 = arith.minsi %28, %c3 : index
    %inserted_slice = tensor.insert_slice %26 into %arg4[%29, 0] [1, 4] [1, 1] : tensor<1x4xf64> into tensor<4x4xf64>
    scf.yield %22, %inserted_slice : tensor<4xf64>, tensor<4x4xf64>
  }
  %3 = tensor.empty() : tensor<f64>
  %4 = linalg.fill ins(%cst : f64) outs(%3 : tensor<f64>) -> tensor<f64>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%2#0 : tensor<4xf64>) outs(%4 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %13 = arith.addf %out, %in : f64
    linalg.yield %13 : f64
  } -> tensor<f64>
  %6 = tensor.empty() : tensor<4x4xf64>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2#1 : tensor<4x4xf64>) outs(%6 : tensor<4x4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %13 = arith.mulf %in, %in : f64
    linalg.yield %13 : f64
  } -> tensor<4x4xf64>
  %8 = tensor.empty() : tensor<f64>
  %9 = linalg.fill ins(%cst : f64) outs(%8 : tensor<f64>) -> tensor<f64>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%7 : tensor<4x4xf64>) outs(%9 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %13 = arith.addf %out, %in : f64
    linalg.yield %13 : f64
  } -> tensor<f64>
  %11 = tensor.empty() : tensor<f64>
  %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%5, %10 : tensor<f64>, tensor<f64>) outs(%11 : tensor<f64>) {
  ^bb0(%in: f64, %in_2: f64, %out: f64):
    %13 = arith.addf %in, %in_2 : f64
    linalg.yield %13 : f64
  } -> tensor<f64>
  return %12 : tensor<f64>
}

func.func @fori_static(%arg0: tensor<4x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %cst = arith.constant 1.000000e+00 : f64
  %cst_0 = arith.constant 0.000000e+00 : f64
  %cst_1 = arith.constant dense<0> : tensor<i64>
  %c0_i64 = arith.constant 0 : i64
  %c5_i64 = arith.constant 5 : i64
  %c1_i64 = arith.constant 1 : i64
  %0:2 = scf.for %arg2 = %c0_i64 to %c5_i64 step %c1_i64 iter_args(%arg3 = %cst_1, %arg4 = %arg1) -> (tensor<i64>, tensor<4xf64>)  : i64 {
    %4 = tensor.empty() : tensor<i64>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i64>) outs(%4 : tensor<i64>) {
    ^bb0(%in: i64, %out: i64):
      %19 = arith.addi %in, %c1_i64 : i64
      linalg.yield %19 : i64
    } -> tensor<i64>
    %6 = tensor.empty() : tensor<4xf64>
    %7 = linalg.fill ins(%cst_0 : f64) outs(%6 : tensor<4xf64>) -> tensor<4xf64>
    %8 = linalg.matvec ins(%arg0, %arg4 : tensor<4x4xf64>, tensor<4xf64>) outs(%7 : tensor<4xf64>) -> tensor<4xf64>
    %9 = tensor.empty() : tensor<4xf64>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8 : tensor<4xf64>) outs(%9 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %19 = math.tanh %in : f64
      linalg.yield %19 : f64
    } -> tensor<4xf64>
    %11 = tensor.empty() : tensor<f64>
    %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i64>) outs(%11 : tensor<f64>) {
    ^bb0(%in: i64, %out: f64):
      %19 = arith.sitofp %in : i64 to f64
      linalg.yield %19 : f64
    } -> tensor<f64>
    %13 = tensor.empty() : tensor<f64>
    %14 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%12 : tensor<f64>) outs(%13 : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %19 = arith.addf %in, %cst : f64
      linalg.yield %19 : f64
    } -> tensor<f64>
    %15 = tensor.empty() : tensor<4xf64>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%14 : tensor<f64>) outs(%15 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      linalg.yield %in : f64
    } -> tensor<4xf64>
    %17 = tensor.empty() : tensor<4xf64>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%10, %16 : tensor<4xf64>, tensor<4xf64>) outs(%17 : tensor<4xf64>) {
    ^bb0(%in: f64, %in_2: f64, %out: f64):
      %19 = arith.mulf %in, %in_2 : f64
      linalg.yield %19 : f64
    } -> tensor<4xf64>
    scf.yield %5, %18 : tensor<i64>, tensor<4xf64>
  }
  %1 = tensor.empty() : tensor<f64>
  %2 = linalg.fill ins(%cst_0 : f64) outs(%1 : tensor<f64>) -> tensor<f64>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0#1 : tensor<4xf64>) outs(%2 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %4 = arith.addf %out, %in : f64
    linalg.yield %4 : f64
  } -> tensor<f64>
  return %3 : tensor<f64>
}

func.func @fori_dynamic(%arg0: tensor<4x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}, %arg2: tensor<i64>) -> tensor<f64> {
  %cst = arith.constant 1.000000e+00 : f64
  %cst_0 = arith.constant 0.000000e+00 : f64
  %c1_i64 = arith.constant 1 : i64
  %cst_1 = arith.constant dense<0> : tensor<i64>
  %0:2 = scf.while (%arg3 = %cst_1, %arg4 = %arg1) : (tensor<i64>, tensor<4xf64>) -> (tensor<i64>, tensor<4xf64>) {
    %4 = tensor.empty() : tensor<i1>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3, %arg2 : tensor<i64>, tensor<i64>) outs(%4 : tensor<i1>) {
    ^bb0(%in: i64, %in_2: i64, %out: i1):
      %6 = arith.cmpi slt, %in, %in_2 : i64
      linalg.yield %6 : i1
    } -> tensor<i1>
    %extracted = tensor.extract %5[] : tensor<i1>
    scf.condition(%extracted) %arg3, %arg4 : tensor<i64>, tensor<4xf64>
  } do {
  ^bb0(%arg3: tensor<i64>, %arg4: tensor<4xf64>):
    %4 = tensor.empty() : tensor<i64>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i64>) outs(%4 : tensor<i64>) {
    ^bb0(%in: i64, %out: i64):
      %19 = arith.addi %in, %c1_i64 : i64
      linalg.yield %19 : i64
    } -> tensor<i64>
    %6 = tensor.empty() : tensor<4xf64>
    %7 = linalg.fill ins(%cst_0 : f64) outs(%6 : tensor<4xf64>) -> tensor<4xf64>
    %8 = linalg.matvec ins(%arg0, %arg4 : tensor<4x4xf64>, tensor<4xf64>) outs(%7 : tensor<4xf64>) -> tensor<4xf64>
    %9 = tensor.empty() : tensor<4xf64>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8 : tensor<4xf64>) outs(%9 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %19 = math.tanh %in : f64
      linalg.yield %19 : f64
    } -> tensor<4xf64>
    %11 = tensor.empty() : tensor<f64>
    %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i64>) outs(%11 : tensor<f64>) {
    ^bb0(%in: i64, %out: f64):
      %19 = arith.sitofp %in : i64 to f64
      linalg.yield %19 : f64
    } -> tensor<f64>
    %13 = tensor.empty() : tensor<f64>
    %14 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%12 : tensor<f64>) outs(%13 : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %19 = arith.addf %in, %cst : f64
      linalg.yield %19 : f64
    } -> tensor<f64>
    %15 = tensor.empty() : tensor<4xf64>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%14 : tensor<f64>) outs(%15 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      linalg.yield %in : f64
    } -> tensor<4xf64>
    %17 = tensor.empty() : tensor<4xf64>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%10, %16 : tensor<4xf64>, tensor<4xf64>) outs(%17 : tensor<4xf64>) {
    ^bb0(%in: f64, %in_2: f64, %out: f64):
      %19 = arith.mulf %in, %in_2 : f64
      linalg.yield %19 : f64
    } -> tensor<4xf64>
    scf.yield %5, %18 : tensor<i64>, tensor<4xf64>
  }
  %1 = tensor.empty() : tensor<f64>
  %2 = linalg.fill ins(%cst_0 : f64) outs(%1 : tensor<f64>) -> tensor<f64>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0#1 : tensor<4xf64>) outs(%2 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %4 = arith.addf %out, %in : f64
    linalg.yield %4 : f64
  } -> tensor<f64>
  return %3 : tensor<f64>
}

func.func @while(%arg0: tensor<4x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %c1_i64 = arith.constant 1 : i64
  %cst = arith.constant 9.000000e-01 : f64
  %cst_0 = arith.constant 1.000000e-01 : f64
  %cst_1 = arith.constant 0.000000e+00 : f64
  %c10_i64 = arith.constant 10 : i64
  %cst_2 = arith.constant dense<0> : tensor<i64>
  %0:2 = scf.while (%arg2 = %arg1, %arg3 = %cst_2) : (tensor<4xf64>, tensor<i64>) -> (tensor<4xf64>, tensor<i64>) {
    %4 = tensor.empty() : tensor<i1>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i64>) outs(%4 : tensor<i1>) {
    ^bb0(%in: i64, %out: i1):
      %15 = arith.cmpi slt, %in, %c10_i64 : i64
      linalg.yield %15 : i1
    } -> tensor<i1>
    %6 = tensor.empty() : tensor<4xf64>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg2 : tensor<4xf64>) outs(%6 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %15 = arith.mulf %in, %in : f64
      linalg.yield %15 : f64
    } -> tensor<4xf64>
    %8 = tensor.empty() : tensor<f64>
    %9 = linalg.fill ins(%cst_1 : f64) outs(%8 : tensor<f64>) -> tensor<f64>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%7 : tensor<4xf64>) outs(%9 : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %15 = arith.addf %out, %in : f64
      linalg.yield %15 : f64
    } -> tensor<f64>
    %11 = tensor.empty() : tensor<i1>
    %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%10 : tensor<f64>) outs(%11 : tensor<i1>) {
    ^bb0(%in: f64, %out: i1):
      %15 = arith.cmpf ogt, %in, %cst_0 : f64
      linalg.yield %15 : i1
    } -> tensor<i1>
    %13 = tensor.empty() : tensor<i1>
    %14 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%5, %12 : tensor<i1>, tensor<i1>) outs(%13 : tensor<i1>) {
    ^bb0(%in: i1, %in_3: i1, %out: i1):
      %15 = arith.andi %in, %in_3 : i1
      linalg.yield %15 : i1
    } -> tensor<i1>
    %extracted = tensor.extract %14[] : tensor<i1>
    scf.condition(%extracted) %arg2, %arg3 : tensor<4xf64>, tensor<i64>
  } do {
  ^bb0(%arg2: tensor<4xf64>, %arg3: tensor<i64>):
    %4 = tensor.empty() : tensor<4xf64>
    %5 = linalg.fill ins(%cst_1 : f64) outs(%4 : tensor<4xf64>) -> tensor<4xf64>
    %6 = linalg.matvec ins(%arg0, %arg2 : tensor<4x4xf64>, tensor<4xf64>) outs(%5 : tensor<4xf64>) -> tensor<4xf64>
    %7 = tensor.empty() : tensor<4xf64>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%6 : tensor<4xf64>) outs(%7 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %13 = math.tanh %in : f64
      linalg.yield %13 : f64
    } -> tensor<4xf64>
    %9 = tensor.empty() : tensor<4xf64>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8 : tensor<4xf64>) outs(%9 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %13 = arith.mulf %in, %cst : f64
      linalg.yield %13 : f64
    } -> tensor<4xf64>
    %11 = tensor.empty() : tensor<i64>
    %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i64>) outs(%11 : tensor<i64>) {
    ^bb0(%in: i64, %out: i64):
      %13 = arith.addi %in, %c1_i64 : i64
      linalg.yield %13 : i64
    } -> tensor<i64>
    scf.yield %10, %12 : tensor<4xf64>, tensor<i64>
  }
  %1 = tensor.empty() : tensor<f64>
  %2 = linalg.fill ins(%cst_1 : f64) outs(%1 : tensor<f64>) -> tensor<f64>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0#0 : tensor<4xf64>) outs(%2 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %4 = arith.addf %out, %in : f64
    linalg.yield %4 : f64
  } -> tensor<f64>
  return %3 : tensor<f64>
}

func.func @scan_cond(%arg0: tensor<4x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %cst = arith.constant 0.000000e+00 : f64
  %c0_i32 = arith.constant 0 : i32
  %cst_0 = arith.constant 2.000000e+00 : f64
  %c5 = arith.constant 5 : index
  %c0 = arith.constant 0 : index
  %c1_i64 = arith.constant 1 : i64
  %c6_i64 = arith.constant 6 : i64
  %c0_i64 = arith.constant 0 : i64
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<6xf64>
  %0 = tensor.empty() : tensor<6xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<6xf64>) {
  ^bb0(%out: f64):
    %6 = linalg.index 0 : index
    %7 = arith.index_cast %6 : index to i64
    %8 = arith.sitofp %7 : i64 to f64
    linalg.yield %8 : f64
  } -> tensor<6xf64>
  %2:2 = scf.for %arg2 = %c0_i64 to %c6_i64 step %c1_i64 iter_args(%arg3 = %arg1, %arg4 = %cst_1) -> (tensor<4xf64>, tensor<6xf64>)  : i64 {
    %6 = arith.index_cast %arg2 : i64 to index
    %7 = arith.maxsi %6, %c0 : index
    %8 = arith.minsi %7, %c5 : index
    %extracted_slice = tensor.extract_slice %1[%8] [1] [1] : tensor<6xf64> to tensor<1xf64>
    %collapsed = tensor.collapse_shape %extracted_slice [] : tensor<1xf64> into tensor<f64>
    %9 = tensor.empty() : tensor<i1>
    %10 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%collapsed : tensor<f64>) outs(%9 : tensor<i1>) {
    ^bb0(%in: f64, %out: i1):
      %22 = arith.cmpf ogt, %in, %cst_0 : f64
      linalg.yield %22 : i1
    } -> tensor<i1>
    %11 = tensor.empty() : tensor<i32>
    %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%10 : tensor<i1>) outs(%11 : tensor<i32>) {
    ^bb0(%in: i1, %out: i32):
      %22 = arith.extui %in : i1 to i32
      linalg.yield %22 : i32
    } -> tensor<i32>
    %13 = tensor.empty() : tensor<i1>
    %14 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%12 : tensor<i32>) outs(%13 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %22 = arith.cmpi eq, %in, %c0_i32 : i32
      linalg.yield %22 : i1
    } -> tensor<i1>
    %extracted = tensor.extract %14[] : tensor<i1>
    %15 = scf.if %extracted -> (tensor<4xf64>) {
      %22 = tensor.empty() : tensor<4xf64>
      %23 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg3 : tensor<4xf64>) outs(%22 : tensor<4xf64>) {
      ^bb0(%in: f64, %out: f64):
        %26 = math.sin %in : f64
        linalg.yield %26 : f64
      } -> tensor<4xf64>
      %24 = tensor.empty() : tensor<4xf64>
      %25 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg3, %23 : tensor<4xf64>, tensor<4xf64>) outs(%24 : tensor<4xf64>) {
      ^bb0(%in: f64, %in_2: f64, %out: f64):
        %26 = arith.mulf %in, %in_2 : f64
        linalg.yield %26 : f64
      } -> tensor<4xf64>
      scf.yield %25 : tensor<4xf64>
    } else {
      %22 = tensor.empty() : tensor<4xf64>
      %23 = linalg.fill ins(%cst : f64) outs(%22 : tensor<4xf64>) -> tensor<4xf64>
      %24 = linalg.matvec ins(%arg0, %arg3 : tensor<4x4xf64>, tensor<4xf64>) outs(%23 : tensor<4xf64>) -> tensor<4xf64>
      %25 = tensor.empty() : tensor<4xf64>
      %26 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed : tensor<f64>) outs(%25 : tensor<4xf64>) {
      ^bb0(%in: f64, %out: f64):
        linalg.yield %in : f64
      } -> tensor<4xf64>
      %27 = tensor.empty() : tensor<4xf64>
      %28 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%24, %26 : tensor<4xf64>, tensor<4xf64>) outs(%27 : tensor<4xf64>) {
      ^bb0(%in: f64, %in_2: f64, %out: f64):
        %31 = arith.addf %in, %in_2 : f64
        linalg.yield %31 : f64
      } -> tensor<4xf64>
      %29 = tensor.empty() : tensor<4xf64>
      %30 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%28 : tensor<4xf64>) outs(%29 : tensor<4xf64>) {
      ^bb0(%in: f64, %out: f64):
        %31 = math.tanh %in : f64
        linalg.yield %31 : f64
      } -> tensor<4xf64>
      scf.yield %30 : tensor<4xf64>
    }
    %16 = tensor.empty() : tensor<f64>
    %17 = linalg.fill ins(%cst : f64) outs(%16 : tensor<f64>) -> tensor<f64>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%arg3 : tensor<4xf64>) outs(%17 : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %22 = arith.addf %out, %in : f64
      linalg.yield %22 : f64
    } -> tensor<f64>
    %expanded = tensor.expand_shape %18 [] output_shape [1] : tensor<f64> into tensor<1xf64>
    %19 = arith.index_cast %arg2 : i64 to index
    %20 = arith.maxsi %19, %c0 : index
    %21 = arith.minsi %20, %c5 : index
    %inserted_slice = tensor.insert_slice %expanded into %arg4[%21] [1] [1] : tensor<1xf64> into tensor<6xf64>
    scf.yield %15, %inserted_slice : tensor<4xf64>, tensor<6xf64>
  }
  %3 = tensor.empty() : tensor<f64>
  %4 = linalg.fill ins(%cst : f64) outs(%3 : tensor<f64>) -> tensor<f64>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%2#0 : tensor<4xf64>) outs(%4 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %6 = arith.addf %out, %in : f64
    linalg.yield %6 : f64
  } -> tensor<f64>
  return %5 : tensor<f64>
}

func.func @vmap_cond(%arg0: tensor<3x4xf64> {opt.param}, %arg1: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %c1_i32 = arith.constant 1 : i32
  %cst = arith.constant 0.000000e+00 : f64
  %extracted_slice = tensor.extract_slice %arg0[0, 0] [3, 1] [1, 1] : tensor<3x4xf64> to tensor<3x1xf64>
  %collapsed = tensor.collapse_shape %extracted_slice [[0, 1]] : tensor<3x1xf64> into tensor<3xf64>
  %0 = tensor.empty() : tensor<3xi1>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed : tensor<3xf64>) outs(%0 : tensor<3xi1>) {
  ^bb0(%in: f64, %out: i1):
    %23 = arith.cmpf ogt, %in, %cst : f64
    linalg.yield %23 : i1
  } -> tensor<3xi1>
  %2 = tensor.empty() : tensor<3xi32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<3xi1>) outs(%2 : tensor<3xi32>) {
  ^bb0(%in: i1, %out: i32):
    %23 = arith.extui %in : i1 to i32
    linalg.yield %23 : i32
  } -> tensor<3xi32>
  %4 = tensor.empty() : tensor<3x4xf64>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<4xf64>) outs(%4 : tensor<3x4xf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  } -> tensor<3x4xf64>
  %6 = tensor.empty() : tensor<3xf64>
  %7 = linalg.fill ins(%cst : f64) outs(%6 : tensor<3xf64>) -> tensor<3xf64>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0, %5 : tensor<3x4xf64>, tensor<3x4xf64>) outs(%7 : tensor<3xf64>) {
  ^bb0(%in: f64, %in_0: f64, %out: f64):
    %23 = arith.mulf %in, %in_0 : f64
    %24 = arith.addf %out, %23 : f64
    linalg.yield %24 : f64
  } -> tensor<3xf64>
  %9 = tensor.empty() : tensor<3xf64>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8 : tensor<3xf64>) outs(%9 : tensor<3xf64>) {
  ^bb0(%in: f64, %out: f64):
    %23 = math.exp %in : f64
    linalg.yield %23 : f64
  } -> tensor<3xf64>
  %11 = tensor.empty() : tensor<3x4xf64>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<3x4xf64>) outs(%11 : tensor<3x4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %23 = math.sin %in : f64
    linalg.yield %23 : f64
  } -> tensor<3x4xf64>
  %13 = tensor.empty() : tensor<3xf64>
  %14 = linalg.fill ins(%cst : f64) outs(%13 : tensor<3xf64>) -> tensor<3xf64>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%12, %5 : tensor<3x4xf64>, tensor<3x4xf64>) outs(%14 : tensor<3xf64>) {
  ^bb0(%in: f64, %in_0: f64, %out: f64):
    %23 = arith.mulf %in, %in_0 : f64
    %24 = arith.addf %out, %23 : f64
    linalg.yield %24 : f64
  } -> tensor<3xf64>
  %16 = tensor.empty() : tensor<3xi1>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3 : tensor<3xi32>) outs(%16 : tensor<3xi1>) {
  ^bb0(%in: i32, %out: i1):
    %23 = arith.cmpi slt, %in, %c1_i32 : i32
    linalg.yield %23 : i1
  } -> tensor<3xi1>
  %18 = tensor.empty() : tensor<3xf64>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%17, %10, %15 : tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) outs(%18 : tensor<3xf64>) {
  ^bb0(%in: i1, %in_0: f64, %in_1: f64, %out: f64):
    %23 = arith.select %in, %in_0, %in_1 : f64
    linalg.yield %23 : f64
  } -> tensor<3xf64>
  %20 = tensor.empty() : tensor<f64>
  %21 = linalg.fill ins(%cst : f64) outs(%20 : tensor<f64>) -> tensor<f64>
  %22 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%19 : tensor<3xf64>) outs(%21 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %23 = arith.addf %out, %in : f64
    linalg.yield %23 : f64
  } -> tensor<f64>
  return %22 : tensor<f64>
}
