// Losses through every operation of the tensor dialect that has a rule.

func.func @moves(%w: tensor<4x6xf64> {opt.param}, %st: tensor<f64> {opt.param}, %ct: tensor<i1>) -> tensor<f64> {
  %s = tensor.extract %st[] : tensor<f64>
  %c = tensor.extract %ct[] : tensor<i1>
  %0 = arith.mulf %w, %w : tensor<4x6xf64>
  %a = tensor.extract_slice %0[0, 0] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %b = tensor.extract_slice %0[0, 2] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %d = tensor.extract_slice %0[1, 1] [1, 2] [1, 2] : tensor<4x6xf64> to tensor<2xf64>
  %p = arith.mulf %a, %b : tensor<4x2xf64>
  %e = tensor.concat dim(1) %p, %a : (tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x4xf64>
  %z = arith.constant 0.0 : f64
  %pad = tensor.pad %e low[1, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f64
  } : tensor<4x4xf64> to tensor<5x6xf64>
  %col = tensor.collapse_shape %pad [[0, 1]] : tensor<5x6xf64> into tensor<30xf64>
  %exp = tensor.expand_shape %col [[0, 1]] output_shape [6, 5] : tensor<30xf64> into tensor<6x5xf64>
  %ins = tensor.insert_slice %d into %exp[2, 0] [1, 2] [1, 1] : tensor<2xf64> into tensor<6x5xf64>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %spl = tensor.splat %s : tensor<6x5xf64>
  %m = arith.mulf %ins, %spl : tensor<6x5xf64>
  %sq = math.tanh %s : f64
  %in2 = tensor.insert %sq into %m[%c1, %c2] : tensor<6x5xf64>
  %sel = arith.select %c, %in2, %m : tensor<6x5xf64>
  %sin = math.sin %sel : tensor<6x5xf64>
  %el = tensor.extract %sin[%c2, %c1] : tensor<6x5xf64>
  %el2 = tensor.extract %sin[%c1, %c2] : tensor<6x5xf64>
  %fe = tensor.from_elements %el, %el2, %sq : tensor<3xf64>
  %in = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%in : tensor<f64>) -> tensor<f64>
  %l1 = linalg.reduce {arith.addf} ins(%sin : tensor<6x5xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  %l2 = linalg.dot ins(%fe, %fe : tensor<3xf64>, tensor<3xf64>) outs(%l1 : tensor<f64>) -> tensor<f64>
  %r = tensor.extract %l2[] : tensor<f64>
  %r2 = arith.mulf %r, %s : f64
  %l = tensor.from_elements %r2 : tensor<f64>
  return %l : tensor<f64>
}

// Slices that overlap: contributions to one element come from several reads.
func.func @overlapping_slices(%w: tensor<5x5xf64> {opt.param}, %p: tensor<2xi64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %p0 = tensor.extract %p[%c0] : tensor<2xi64>
  %p1 = tensor.extract %p[%c1] : tensor<2xi64>
  %o0 = arith.index_cast %p0 : i64 to index
  %o1 = arith.index_cast %p1 : i64 to index
  %a = tensor.extract_slice %w[%o0, 1] [3, 3] [1, 1] : tensor<5x5xf64> to tensor<3x3xf64>
  %b = tensor.extract_slice %w[1, %o1] [3, 3] [1, 1] : tensor<5x5xf64> to tensor<3x3xf64>
  %d = tensor.extract_slice %w[0, 0] [3, 3] [2, 2] : tensor<5x5xf64> to tensor<3x3xf64>
  %ab = arith.mulf %a, %b : tensor<3x3xf64>
  %abd = arith.mulf %ab, %d : tensor<3x3xf64>
  %in = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%in : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%abd : tensor<3x3xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// One weight from which three parts are cut, as a fused projection.
func.func @parts_of_a_weight(%w: tensor<4x6xf64> {opt.param}) -> tensor<f64> {
  %z = arith.constant 0.0 : f64
  %q = tensor.extract_slice %w[0, 0] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %k = tensor.extract_slice %w[0, 2] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %v = tensor.extract_slice %w[0, 4] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %qk = arith.mulf %q, %k : tensor<4x2xf64>
  %qkv = arith.mulf %qk, %v : tensor<4x2xf64>
  %in = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%in : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%qkv : tensor<4x2xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

func.func @reshape_and_cast(%w: tensor<2x6xf64> {opt.param}) -> tensor<f64> {
  %z = arith.constant 0.0 : f64
  %shape = arith.constant dense<[3, 4]> : tensor<2xindex>
  %r = tensor.reshape %w(%shape) : (tensor<2x6xf64>, tensor<2xindex>) -> tensor<3x4xf64>
  %d = tensor.cast %r : tensor<3x4xf64> to tensor<?x4xf64>
  %m = arith.mulf %d, %d : tensor<?x4xf64>
  %m3 = arith.mulf %m, %d : tensor<?x4xf64>
  %in = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%in : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%m3 : tensor<?x4xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}
func.func @integer_power(%x: tensor<3x4xf64> {opt.param}, %n: tensor<3x4xi32>) -> tensor<3x4xf64> {
  %i = math.ipowi %n, %n : tensor<3x4xi32>
  %f = arith.sitofp %i : tensor<3x4xi32> to tensor<3x4xf64>
  %c = arith.mulf %f, %x : tensor<3x4xf64>
  %d = arith.mulf %c, %x : tensor<3x4xf64>
  return %d : tensor<3x4xf64>
}
// Branches in bodies, one of them around what a reduction adds.
func.func @branch_in_body(%x: tensor<5xf64> {opt.param}, %y: tensor<5xf64> {opt.param}, %n: tensor<5xi64>) -> tensor<5xf64> {
  %c1 = arith.constant 1 : i64
  %e = tensor.empty() : tensor<5xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y, %n : tensor<5xf64>, tensor<5xf64>, tensor<5xi64>) outs(%e : tensor<5xf64>) {
  ^bb0(%a: f64, %b: f64, %k: i64, %o: f64):
    %s = math.sin %a : f64
    %first = arith.cmpi slt, %k, %c1 : i64
    %v, %w = scf.if %first -> (f64, f64) {
      %p = arith.mulf %s, %b : f64
      %q = math.exp %p : f64
      scf.yield %q, %s : f64, f64
    } else {
      %second = arith.cmpi eq, %k, %c1 : i64
      %t = scf.if %second -> f64 {
        %u = arith.mulf %s, %s : f64
        scf.yield %u : f64
      } else {
        scf.yield %b : f64
      }
      scf.yield %t, %a : f64, f64
    }
    %z = arith.mulf %v, %w : f64
    linalg.yield %z : f64
  } -> tensor<5xf64>
  return %r : tensor<5xf64>
}
func.func @branch_around_a_sum(%x: tensor<4x5xf64> {opt.param}, %n: tensor<5xi64>, %z: tensor<4xf64> {opt.param}) -> tensor<4xf64> {
  %c1 = arith.constant 1 : i64
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %n : tensor<4x5xf64>, tensor<5xi64>) outs(%z : tensor<4xf64>) {
  ^bb0(%a: f64, %k: i64, %sum: f64):
    %p = arith.cmpi slt, %k, %c1 : i64
    %next = scf.if %p -> f64 {
      %s = math.sin %a : f64
      %t = arith.addf %sum, %s : f64
      scf.yield %t : f64
    } else {
      scf.yield %sum : f64
    }
    linalg.yield %next : f64
  } -> tensor<4xf64>
  return %r : tensor<4xf64>
}
