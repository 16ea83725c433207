// Reads and writes at positions that are data.

func.func @embedding(%t: tensor<3x4xf64> {opt.param}, %ix: tensor<2x3xi64>) -> tensor<2x3x4xf64> {
  %e = tensor.empty() : tensor<2x3x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ix : tensor<2x3xi64>) outs(%e : tensor<2x3x4xf64>) {
  ^bb0(%n: i64, %o: f64):
    %i = arith.index_cast %n : i64 to index
    %j = linalg.index 2 : index
    %v = tensor.extract %t[%i, %j] : tensor<3x4xf64>
    linalg.yield %v : f64
  } -> tensor<2x3x4xf64>
  %z = math.sin %y : tensor<2x3x4xf64>
  return %z : tensor<2x3x4xf64>
}
// As torch-mlir's aten.index: negative positions count from the end.
func.func @negative_fixup(%t: tensor<3x4xf64> {opt.param}, %ix: tensor<5xi64>) -> tensor<5x4xf64> {
  %c1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %e = tensor.empty() : tensor<5x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ix : tensor<5xi64>) outs(%e : tensor<5x4xf64>) {
  ^bb0(%n0: i64, %o: f64):
    %n = arith.subi %n0, %c1 : i64
    %neg = arith.cmpi slt, %n, %c0 : i64
    %fix = arith.addi %n, %c3 : i64
    %m = arith.select %neg, %fix, %n : i64
    %i = arith.index_cast %m : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%i, %j] : tensor<3x4xf64>
    linalg.yield %v : f64
  } -> tensor<5x4xf64>
  %z = math.sin %y : tensor<5x4xf64>
  return %z : tensor<5x4xf64>
}
// As jnp.take(mode="fill") and jnp.take(mode="clip").
func.func @fill_outside(%t: tensor<2x4xf64> {opt.param}, %ix: tensor<5xi32>) -> tensor<5x4xf64> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %fill = arith.constant 0.25 : f64
  %e = tensor.empty() : tensor<5x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ix : tensor<5xi32>) outs(%e : tensor<5x4xf64>) {
  ^bb0(%n: i32, %o: f64):
    %lo = arith.maxsi %n, %c0 : i32
    %cl = arith.minsi %lo, %c1 : i32
    %i = arith.index_cast %cl : i32 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%i, %j] : tensor<2x4xf64>
    %in = arith.cmpi eq, %n, %cl : i32
    %r = arith.select %in, %v, %fill : f64
    linalg.yield %r : f64
  } -> tensor<5x4xf64>
  %z = math.sin %y : tensor<5x4xf64>
  return %z : tensor<5x4xf64>
}
func.func @several_extracts(%t: tensor<3x4xf64> {opt.param}, %u: tensor<4xf64> {opt.param}, %x: tensor<5xf64> {opt.param}, %ix: tensor<5xi64>) -> tensor<5xf64> {
  %e = tensor.empty() : tensor<5xf64>
  %c2 = arith.constant 2 : index
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%ix, %x : tensor<5xi64>, tensor<5xf64>) outs(%e : tensor<5xf64>) {
  ^bb0(%n: i64, %xi: f64, %o: f64):
    %i = arith.index_cast %n : i64 to index
    %k = arith.subi %c2, %i : index
    %a = tensor.extract %t[%i, %k] : tensor<3x4xf64>
    %b = tensor.extract %t[%k, %i] : tensor<3x4xf64>
    %c = tensor.extract %u[%i] : tensor<4xf64>
    %p = arith.mulf %a, %b : f64
    %q = arith.mulf %c, %xi : f64
    %r = arith.addf %p, %q : f64
    %s = math.sin %r : f64
    linalg.yield %s : f64
  } -> tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @embedding_bag(%t: tensor<3x4xf64> {opt.param}, %ix: tensor<2x5xi64>) -> tensor<2x4xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2x4xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<2x4xf64>) -> tensor<2x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%ix : tensor<2x5xi64>) outs(%f : tensor<2x4xf64>) {
  ^bb0(%n: i64, %o: f64):
    %i = arith.index_cast %n : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%i, %j] : tensor<3x4xf64>
    %s = arith.addf %o, %v : f64
    linalg.yield %s : f64
  } -> tensor<2x4xf64>
  %z = math.sin %y : tensor<2x4xf64>
  return %z : tensor<2x4xf64>
}
// As jax's cross entropy: one element of each row.
func.func @take_along_axis(%t: tensor<4x3xf64> {opt.param}, %ix: tensor<4x1xi32>) -> tensor<4x1xf64> {
  %e = tensor.empty() : tensor<4x1xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ix : tensor<4x1xi32>) outs(%e : tensor<4x1xf64>) {
  ^bb0(%n: i32, %o: f64):
    %r = linalg.index 0 : index
    %i = arith.index_cast %n : i32 to index
    %v = tensor.extract %t[%r, %i] : tensor<4x3xf64>
    linalg.yield %v : f64
  } -> tensor<4x1xf64>
  %z = math.sin %y : tensor<4x1xf64>
  return %z : tensor<4x1xf64>
}
func.func @one_hot(%x: tensor<4x3xf64> {opt.param}, %ix: tensor<4xi64>) -> tensor<4xf64> {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<4xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%ix, %x : tensor<4xi64>, tensor<4x3xf64>) outs(%f : tensor<4xf64>) {
  ^bb0(%n: i64, %v: f64, %o: f64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %eq = arith.cmpi eq, %n, %k : i64
    %h = arith.select %eq, %one, %zero : f64
    %u = arith.uitofp %eq : i1 to f64
    %hu = arith.mulf %h, %u : f64
    %l = math.exp %v : f64
    %p = arith.mulf %hu, %l : f64
    %s = arith.addf %o, %p : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  return %y : tensor<4xf64>
}
func.func @causal_mask(%x: tensor<4x4xf64> {opt.param}) -> tensor<4x4xf64> {
  %ninf = arith.constant -6.0e4 : f64
  %e = tensor.empty() : tensor<4x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf64>) outs(%e : tensor<4x4xf64>) {
  ^bb0(%v: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sge, %i, %j : index
    %r = arith.select %c, %v, %ninf : f64
    linalg.yield %r : f64
  } -> tensor<4x4xf64>
  %s = linalg.softmax dimension(1) ins(%y : tensor<4x4xf64>) outs(%e : tensor<4x4xf64>) -> tensor<4x4xf64>
  return %s : tensor<4x4xf64>
}
func.func @tensor_gather(%t: tensor<3x4xf64> {opt.param}, %ix: tensor<2x1xindex>) -> tensor<2x1x4xf64> {
  %y = tensor.gather %t[%ix] gather_dims([0]) : (tensor<3x4xf64>, tensor<2x1xindex>) -> tensor<2x1x4xf64>
  %z = math.sin %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}
func.func @extract_at_data(%t: tensor<3x4xf64> {opt.param}, %ix: tensor<2xi64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %ix[%c0] : tensor<2xi64>
  %b = tensor.extract %ix[%c1] : tensor<2xi64>
  %i = arith.index_cast %a : i64 to index
  %j = arith.index_cast %b : i64 to index
  %v = tensor.extract %t[%i, %j] : tensor<3x4xf64>
  %w = tensor.extract %t[%j, %i] : tensor<3x4xf64>
  %p = arith.mulf %v, %w : f64
  %s = math.sin %p : f64
  %y = tensor.from_elements %s : tensor<f64>
  return %y : tensor<f64>
}
func.func @gather_rows_by_affine(%t: tensor<9x4xf64> {opt.param}) -> tensor<3x4xf64> {
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x4xf64>) {
  ^bb0(%o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %c3 : index
    %v = tensor.extract %t[%k, %j] : tensor<9x4xf64>
    linalg.yield %v : f64
  } -> tensor<3x4xf64>
  %z = math.sin %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
// Nearest-neighbour upsampling as torch-mlir writes it.
func.func @upsample_nearest(%t: tensor<1x2x3x3xf64> {opt.param}) -> tensor<1x2x6x6xf64> {
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<1x2x6x6xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e : tensor<1x2x6x6xf64>) {
  ^bb0(%o: f64):
    %n = linalg.index 0 : index
    %c = linalg.index 1 : index
    %h = linalg.index 2 : index
    %w = linalg.index 3 : index
    %hh = arith.floordivsi %h, %c2 : index
    %ww = arith.floordivsi %w, %c2 : index
    %v = tensor.extract %t[%n, %c, %hh, %ww] : tensor<1x2x3x3xf64>
    linalg.yield %v : f64
  } -> tensor<1x2x6x6xf64>
  %z = math.sin %y : tensor<1x2x6x6xf64>
  return %z : tensor<1x2x6x6xf64>
}
func.func @upsample_by_map(%t: tensor<1x3x3xf64> {opt.param}) -> tensor<1x6x6xf64> {
  %e = tensor.empty() : tensor<1x6x6xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1 floordiv 2, d2 floordiv 2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t : tensor<1x3x3xf64>) outs(%e : tensor<1x6x6xf64>) {
  ^bb0(%v: f64, %o: f64):
    %s = math.sin %v : f64
    linalg.yield %s : f64
  } -> tensor<1x6x6xf64>
  return %y : tensor<1x6x6xf64>
}
// Negative positions again, by a branch.
func.func @branch_chooses_position(%t: tensor<3x4xf64> {opt.param}, %ix: tensor<5xi64>) -> tensor<5x4xf64> {
  %c1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %e = tensor.empty() : tensor<5x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ix : tensor<5xi64>) outs(%e : tensor<5x4xf64>) {
  ^bb0(%n0: i64, %o: f64):
    %n = arith.subi %n0, %c1 : i64
    %neg = arith.cmpi slt, %n, %c0 : i64
    %row = linalg.index 0 : index
    %m = scf.if %neg -> (i64) {
      %fix = arith.addi %n, %c3 : i64
      scf.yield %fix : i64
    } else {
      %p = arith.index_cast %row : index to i64
      %q = arith.addi %n, %p : i64
      %r = arith.remui %q, %c3 : i64
      scf.yield %r : i64
    }
    %i = arith.index_cast %m : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%i, %j] : tensor<3x4xf64>
    linalg.yield %v : f64
  } -> tensor<5x4xf64>
  %z = math.sin %y : tensor<5x4xf64>
  return %z : tensor<5x4xf64>
}
// Positions that repeat, and updates that are the table itself, moved.
func.func @add_rows(%t: tensor<3x4xf64> {opt.param}, %x: tensor<5x4xf64> {opt.param}, %ix: tensor<5xi64>) -> tensor<3x4xf64> {
  %y = remat.scatter_add ins(%x : tensor<5x4xf64>) outs(%t : tensor<3x4xf64>) {
  ^bb0(%i: index, %j: index):
    %n = tensor.extract %ix[%i] : tensor<5xi64>
    %r = arith.index_cast %n : i64 to index
    remat.yield %r, %j : index, index
  } -> tensor<3x4xf64>
  %z = math.sin %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @add_to_themselves(%t: tensor<3x3xf64> {opt.param}, %ix: tensor<3x3xi32>) -> tensor<3x3xf64> {
  %y = remat.scatter_add ins(%t : tensor<3x3xf64>) outs(%t : tensor<3x3xf64>) {
  ^bb0(%i: index, %j: index):
    %n = tensor.extract %ix[%j, %i] : tensor<3x3xi32>
    %r = arith.index_cast %n : i32 to index
    remat.yield %j, %r : index, index
  } -> tensor<3x3xf64>
  %z = math.sin %y : tensor<3x3xf64>
  return %z : tensor<3x3xf64>
}
func.func @add_dynamic(%t: tensor<?xf64> {opt.param}, %x: tensor<?x2xf64> {opt.param}, %ix: tensor<?xi64>) -> tensor<?xf64> {
  %y = remat.scatter_add ins(%x : tensor<?x2xf64>) outs(%t : tensor<?xf64>) {
  ^bb0(%i: index, %j: index):
    %n = tensor.extract %ix[%i] : tensor<?xi64>
    %r = arith.index_cast %n : i64 to index
    remat.yield %r : index
  } -> tensor<?xf64>
  %z = math.sin %y : tensor<?xf64>
  return %z : tensor<?xf64>
}
