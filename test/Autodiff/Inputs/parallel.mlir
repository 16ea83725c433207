// Scatters and parallel loops.

// One row of two, at coordinates that are not the leading ones.
func.func @scatter_rows(%s: tensor<2x4xf64> {opt.param}, %d: tensor<4x5xf64> {opt.param}) -> tensor<4x5xf64> {
  %ix = arith.constant dense<[[4], [1]]> : tensor<2x1xindex>
  %q = math.sin %s : tensor<2x4xf64>
  %y = tensor.scatter %q into %d[%ix] scatter_dims([1]) unique : (tensor<2x4xf64>, tensor<4x5xf64>, tensor<2x1xindex>) -> tensor<4x5xf64>
  %z = arith.mulf %y, %y : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @scatter_keeps_rank(%s: tensor<2x1x4xf64> {opt.param}, %d: tensor<3x4xf64> {opt.param}) -> tensor<3x4xf64> {
  %ix0 = arith.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %q = math.sin %d : tensor<3x4xf64>
  %y = tensor.scatter %s into %q[%ix0] scatter_dims([0]) unique : (tensor<2x1x4xf64>, tensor<3x4xf64>, tensor<2x1xi32>) -> tensor<3x4xf64>
  %z = arith.mulf %y, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @scatter_elements(%s: tensor<2x3xf64> {opt.param}, %d: tensor<3x4xf64> {opt.param}) -> tensor<3x4xf64> {
  %ix = arith.constant dense<[[[2, 0], [0, 3], [1, 1]], [[2, 2], [0, 0], [1, 3]]]> : tensor<2x3x2xindex>
  %y = tensor.scatter %s into %d[%ix] scatter_dims([0, 1]) unique : (tensor<2x3xf64>, tensor<3x4xf64>, tensor<2x3x2xindex>) -> tensor<3x4xf64>
  %z = math.sin %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @scatter_dynamic(%s: tensor<?x4xf64> {opt.param}, %d: tensor<?x?xf64> {opt.param}) -> tensor<?x?xf64> {
  %ix = arith.constant dense<[[2], [0], [1]]> : tensor<3x1xindex>
  %dy = tensor.cast %ix : tensor<3x1xindex> to tensor<?x1xindex>
  %e = tensor.concat dim(1) %d, %s : (tensor<?x?xf64>, tensor<?x4xf64>) -> tensor<?x?xf64>
  %c3 = arith.constant 3 : index
  %e4 = tensor.extract_slice %e[0, 0] [%c3, 4] [1, 1] : tensor<?x?xf64> to tensor<?x4xf64>
  %q = math.sin %s : tensor<?x4xf64>
  %y = tensor.scatter %q into %e4[%dy] scatter_dims([0]) unique : (tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x1xindex>) -> tensor<?x4xf64>
  %yd = tensor.cast %y : tensor<?x4xf64> to tensor<?x?xf64>
  %z = arith.mulf %yd, %yd : tensor<?x?xf64>
  return %z : tensor<?x?xf64>
}
func.func @scatter_by_data(%s: tensor<1x4xf64> {opt.param}, %d: tensor<3x4xf64> {opt.param}, %ix: tensor<1x1xi64>) -> tensor<3x4xf64> {
  %q = math.sin %s : tensor<1x4xf64>
  %y = tensor.scatter %q into %d[%ix] scatter_dims([0]) unique : (tensor<1x4xf64>, tensor<3x4xf64>, tensor<1x1xi64>) -> tensor<3x4xf64>
  %z = arith.mulf %y, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
// An iteration sees the shared output as it was, not what others insert.
func.func @forall(%w: tensor<6x4xf64> {opt.param}, %x: tensor<6x4xf64> {opt.param}) -> (tensor<6x4xf64>, tensor<6x4xf64>) {
  %e = tensor.empty() : tensor<6x4xf64>
  %y:2 = scf.forall (%i, %j) = (0, 0) to (6, 4) step (2, 4) shared_outs(%o = %e, %p = %x) -> (tensor<6x4xf64>, tensor<6x4xf64>) {
    %a = tensor.extract_slice %w[%i, %j] [2, 4] [1, 1] : tensor<6x4xf64> to tensor<2x4xf64>
    %b = tensor.extract_slice %p[%i, %j] [2, 4] [1, 1] : tensor<6x4xf64> to tensor<2x4xf64>
    %first = tensor.extract_slice %p[0, 0] [2, 4] [1, 1] : tensor<6x4xf64> to tensor<2x4xf64>
    %s = math.sin %a : tensor<2x4xf64>
    %t = arith.mulf %s, %b : tensor<2x4xf64>
    %u = arith.mulf %t, %first : tensor<2x4xf64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i, %j] [2, 4] [1, 1] : tensor<2x4xf64> into tensor<6x4xf64>
      tensor.parallel_insert_slice %u into %p[%i, %j] [2, 4] [1, 1] : tensor<2x4xf64> into tensor<6x4xf64>
    }
  }
  return %y#0, %y#1 : tensor<6x4xf64>, tensor<6x4xf64>
}
func.func @forall_in_forall(%w: tensor<4x4xf64> {opt.param}, %n: tensor<i64>) -> tensor<4x4xf64> {
  %k0 = tensor.extract %n[] : tensor<i64>
  %k = arith.index_cast %k0 : i64 to index
  %y = scf.forall (%i) in (4) shared_outs(%o = %w) -> (tensor<4x4xf64>) {
    %row = tensor.extract_slice %w[%i, 0] [1, 4] [1, 1] : tensor<4x4xf64> to tensor<4xf64>
    %r = scf.forall (%j) in (%k) shared_outs(%q = %row) -> (tensor<4xf64>) {
      %v = tensor.extract_slice %w[%j, %i] [1, 1] [1, 1] : tensor<4x4xf64> to tensor<1xf64>
      %s = math.sin %v : tensor<1xf64>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %s into %q[%j] [1] [1] : tensor<1xf64> into tensor<4xf64>
      }
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[%i, 0] [1, 4] [1, 1] : tensor<4xf64> into tensor<4x4xf64>
    }
  }
  %z = arith.mulf %y, %y : tensor<4x4xf64>
  return %z : tensor<4x4xf64>
}
func.func @parallel(%w: tensor<3x4xf64> {opt.param}) -> (tensor<f64>, tensor<f64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f64
  %zero = arith.constant 0.0 : f64
  %r:2 = scf.parallel (%i, %j) = (%c0, %c0) to (%c3, %c4) step (%c1, %c1) init (%one, %zero) -> (f64, f64) {
    %v = tensor.extract %w[%i, %j] : tensor<3x4xf64>
    %s = math.sin %v : f64
    scf.reduce (%s, %v : f64, f64) {
    ^bb0(%a: f64, %b: f64):
      %p = arith.mulf %a, %b : f64
      scf.reduce.return %p : f64
    }, {
    ^bb0(%a: f64, %b: f64):
      %c = math.exp %b : f64
      %p = arith.addf %a, %c : f64
      scf.reduce.return %p : f64
    }
  }
  %y = tensor.from_elements %r#0 : tensor<f64>
  %z = tensor.from_elements %r#1 : tensor<f64>
  return %y, %z : tensor<f64>, tensor<f64>
}
