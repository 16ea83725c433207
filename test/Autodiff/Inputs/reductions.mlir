// Reductions of every kind that front ends write.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// torch's max(dim) and argmax: values and positions together.
func.func @max_with_index(%x: tensor<3x5xf64> {opt.param}) -> tensor<3xf64> {
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<3xf64>
  %ei = tensor.empty() : tensor<3xi64>
  %f = linalg.fill ins(%ninf : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %fi = linalg.fill ins(%c0 : i64) outs(%ei : tensor<3xi64>) -> tensor<3xi64>
  %y:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%f, %fi : tensor<3xf64>, tensor<3xi64>) {
  ^bb0(%v: f64, %o: f64, %oi: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %m = arith.maximumf %v, %o : f64
    %c = arith.cmpf ogt, %v, %o : f64
    %s = arith.select %c, %k, %oi : i64
    linalg.yield %m, %s : f64, i64
  } -> (tensor<3xf64>, tensor<3xi64>)
  %z = math.sin %y#0 : tensor<3xf64>
  return %z : tensor<3xf64>
}
// The position is used afterwards, too: gather the neighbour of the maximum.
func.func @argmax_then_gather(%x: tensor<3x5xf64> {opt.param}, %t: tensor<5xf64> {opt.param}) -> tensor<3xf64> {
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<3xf64>
  %ei = tensor.empty() : tensor<3xi64>
  %f = linalg.fill ins(%ninf : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %fi = linalg.fill ins(%c0 : i64) outs(%ei : tensor<3xi64>) -> tensor<3xi64>
  %y:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%f, %fi : tensor<3xf64>, tensor<3xi64>) {
  ^bb0(%v: f64, %o: f64, %oi: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %m = arith.maximumf %v, %o : f64
    %c = arith.cmpf ogt, %v, %o : f64
    %s = arith.select %c, %k, %oi : i64
    linalg.yield %m, %s : f64, i64
  } -> (tensor<3xf64>, tensor<3xi64>)
  %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%y#0, %y#1 : tensor<3xf64>, tensor<3xi64>) outs(%e : tensor<3xf64>) {
  ^bb0(%m: f64, %n: i64, %o: f64):
    %i = arith.index_cast %n : i64 to index
    %a = tensor.extract %t[%i] : tensor<5xf64>
    %p = arith.mulf %a, %m : f64
    linalg.yield %p : f64
  } -> tensor<3xf64>
  return %g : tensor<3xf64>
}
// jax's argmin by (value, index) pairs with a NaN flavour.
func.func @argmin_pairs(%x: tensor<3x5xf64> {opt.param}) -> tensor<5xf64> {
  %inf = arith.constant 0x7FF0000000000000 : f64
  %c0 = arith.constant 0 : i32
  %e = tensor.empty() : tensor<5xf64>
  %ei = tensor.empty() : tensor<5xi32>
  %f = linalg.fill ins(%inf : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %fi = linalg.fill ins(%c0 : i32) outs(%ei : tensor<5xi32>) -> tensor<5xi32>
  %y:2 = linalg.generic {indexing_maps = [#id, #col, #col], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<3x5xf64>) outs(%f, %fi : tensor<5xf64>, tensor<5xi32>) {
  ^bb0(%v: f64, %o: f64, %oi: i32):
    %j = linalg.index 0 : index
    %k = arith.index_cast %j : index to i32
    %c = arith.cmpf olt, %v, %o : f64
    %n = arith.cmpf une, %v, %v : f64
    %eq = arith.cmpf oeq, %v, %o : f64
    %lt = arith.cmpi slt, %k, %oi : i32
    %tie = arith.andi %eq, %lt : i1
    %or = arith.ori %c, %n : i1
    %take = arith.ori %or, %tie : i1
    %m = arith.select %or, %v, %o : f64
    %s = arith.select %take, %k, %oi : i32
    linalg.yield %m, %s : f64, i32
  } -> (tensor<5xf64>, tensor<5xi32>)
  %z = math.sin %y#0 : tensor<5xf64>
  return %z : tensor<5xf64>
}
// jnp.cumsum as a window: reduce_window over a padded operand.
func.func @cumsum_by_window(%x: tensor<5xf64> {opt.param}) -> tensor<5xf64> {
  %zero = arith.constant 0.0 : f64
  %p = tensor.pad %x low[4] high[0] {
  ^bb0(%i: index):
    tensor.yield %zero : f64
  } : tensor<5xf64> to tensor<9xf64>
  %w = tensor.empty() : tensor<5xf64>
  %e = tensor.empty() : tensor<5xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%p, %w : tensor<9xf64>, tensor<5xf64>) outs(%f : tensor<5xf64>) {
  ^bb0(%v: f64, %u: f64, %o: f64):
    %s = arith.addf %o, %v : f64
    linalg.yield %s : f64
  } -> tensor<5xf64>
  %z = math.sin %y : tensor<5xf64>
  return %z : tensor<5xf64>
}
func.func @cumsum_by_mask(%x: tensor<5xf64> {opt.param}) -> tensor<5xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<5xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5xf64>) outs(%f : tensor<5xf64>) {
  ^bb0(%v: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi ule, %j, %i : index
    %t = arith.select %c, %v, %zero : f64
    %s = arith.addf %o, %t : f64
    linalg.yield %s : f64
  } -> tensor<5xf64>
  %z = math.sin %y : tensor<5xf64>
  return %z : tensor<5xf64>
}
func.func @cumsum_by_loop(%x: tensor<5x3xf64> {opt.param}) -> tensor<5x3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<5x3xf64>
  %ea = tensor.empty() : tensor<1x3xf64>
  %fa = linalg.fill ins(%zero : f64) outs(%ea : tensor<1x3xf64>) -> tensor<1x3xf64>
  %y:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%o = %e, %a = %fa) -> (tensor<5x3xf64>, tensor<1x3xf64>) {
    %s = tensor.extract_slice %x[%i, 0] [1, 3] [1, 1] : tensor<5x3xf64> to tensor<1x3xf64>
    %n = arith.addf %a, %s : tensor<1x3xf64>
    %q = arith.mulf %n, %s : tensor<1x3xf64>
    %w = tensor.insert_slice %q into %o[%i, 0] [1, 3] [1, 1] : tensor<1x3xf64> into tensor<5x3xf64>
    scf.yield %w, %n : tensor<5x3xf64>, tensor<1x3xf64>
  }
  return %y#0 : tensor<5x3xf64>
}
func.func @cumprod_by_window(%x: tensor<5xf64> {opt.param}) -> tensor<5xf64> {
  %one = arith.constant 1.0 : f64
  %p = tensor.pad %x low[4] high[0] {
  ^bb0(%i: index):
    tensor.yield %one : f64
  } : tensor<5xf64> to tensor<9xf64>
  %w = tensor.empty() : tensor<5xf64>
  %e = tensor.empty() : tensor<5xf64>
  %f = linalg.fill ins(%one : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%p, %w : tensor<9xf64>, tensor<5xf64>) outs(%f : tensor<5xf64>) {
  ^bb0(%v: f64, %u: f64, %o: f64):
    %s = arith.mulf %o, %v : f64
    linalg.yield %s : f64
  } -> tensor<5xf64>
  return %y : tensor<5xf64>
}
// The Hillis-Steele form of jax's associative_scan: strided slices and interleaving.
func.func @associative_scan(%x: tensor<4xf64> {opt.param}) -> tensor<4xf64> {
  %zero = arith.constant 0.0 : f64
  %ev = tensor.extract_slice %x[0] [2] [2] : tensor<4xf64> to tensor<2xf64>
  %od = tensor.extract_slice %x[1] [2] [2] : tensor<4xf64> to tensor<2xf64>
  %pair = arith.mulf %ev, %od : tensor<2xf64>
  %a = tensor.extract_slice %pair[0] [1] [1] : tensor<2xf64> to tensor<1xf64>
  %b = tensor.extract_slice %pair[1] [1] [1] : tensor<2xf64> to tensor<1xf64>
  %ab = arith.mulf %a, %b : tensor<1xf64>
  %odd = tensor.concat dim(0) %a, %ab : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<4xf64> to tensor<1xf64>
  %third = tensor.extract_slice %x[2] [1] [1] : tensor<4xf64> to tensor<1xf64>
  %e2 = arith.mulf %a, %third : tensor<1xf64>
  %even = tensor.concat dim(0) %first, %e2 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
  %e = tensor.empty() : tensor<4xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %i0 = tensor.insert_slice %even into %f[0] [2] [2] : tensor<2xf64> into tensor<4xf64>
  %i1 = tensor.insert_slice %odd into %i0[1] [2] [2] : tensor<2xf64> into tensor<4xf64>
  %z = math.sin %i1 : tensor<4xf64>
  return %z : tensor<4xf64>
}
// Mean and variance in one operation (several results, both sums).
func.func @two_sums(%x: tensor<3x5xf64> {opt.param}) -> (tensor<3xf64>, tensor<3xf64>) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %y:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%f, %f : tensor<3xf64>, tensor<3xf64>) {
  ^bb0(%v: f64, %o: f64, %q: f64):
    %s = arith.addf %o, %v : f64
    %vv = arith.mulf %v, %v : f64
    %t = arith.addf %q, %vv : f64
    linalg.yield %s, %t : f64, f64
  } -> (tensor<3xf64>, tensor<3xf64>)
  %z = math.sin %y#0 : tensor<3xf64>
  return %z, %y#1 : tensor<3xf64>, tensor<3xf64>
}
func.func @online_softmax(%x: tensor<3x5xf64> {opt.param}) -> (tensor<3xf64>, tensor<3xf64>) {
  %zero = arith.constant 0.0 : f64
  %low = arith.constant -10.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %g = linalg.fill ins(%low : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %y:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%g, %f : tensor<3xf64>, tensor<3xf64>) {
  ^bb0(%v: f64, %m: f64, %s: f64):
    %n = arith.maximumf %m, %v : f64
    %d = arith.subf %m, %n : f64
    %c = math.exp %d : f64
    %h = arith.subf %v, %n : f64
    %k = math.exp %h : f64
    %t = arith.mulf %s, %c : f64
    %u = arith.addf %t, %k : f64
    linalg.yield %n, %u : f64, f64
  } -> (tensor<3xf64>, tensor<3xf64>)
  return %y#0, %y#1 : tensor<3xf64>, tensor<3xf64>
}
func.func @dynamic_reductions(%x: tensor<?x4xf64> {opt.param}) -> (tensor<?xf64>, tensor<4xf64>, tensor<f64>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %d = tensor.dim %x, %c0 : tensor<?x4xf64>
  %e = tensor.empty(%d) : tensor<?xf64>
  %f = linalg.fill ins(%ninf : f64) outs(%e : tensor<?xf64>) -> tensor<?xf64>
  %a = linalg.reduce {arith.maximumf} ins(%x : tensor<?x4xf64>) outs(%f : tensor<?xf64>) dimensions = [1]
  %e4 = tensor.empty() : tensor<4xf64>
  %f4 = linalg.fill ins(%zero : f64) outs(%e4 : tensor<4xf64>) -> tensor<4xf64>
  %b = linalg.reduce {arith.minimumf} ins(%x : tensor<?x4xf64>) outs(%f4 : tensor<4xf64>) dimensions = [0]
  %e0 = tensor.empty() : tensor<f64>
  %f0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %q = arith.mulf %x, %x : tensor<?x4xf64>
  %c = linalg.reduce {arith.addf} ins(%q : tensor<?x4xf64>) outs(%f0 : tensor<f64>) dimensions = [0, 1]
  return %a, %b, %c : tensor<?xf64>, tensor<4xf64>, tensor<f64>
}
func.func @layer_norm_dynamic(%x: tensor<?x4xf64> {opt.param}, %g: tensor<4xf64> {opt.param}) -> tensor<?x4xf64> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 4.0 : f64
  %eps = arith.constant 1.0e-5 : f64
  %d = tensor.dim %x, %c0 : tensor<?x4xf64>
  %e1 = tensor.empty(%d) : tensor<?x1xf64>
  %f1 = linalg.fill ins(%zero : f64) outs(%e1 : tensor<?x1xf64>) -> tensor<?x1xf64>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x4xf64>) outs(%f1 : tensor<?x1xf64>) {
  ^bb0(%v: f64, %o: f64):
    %a = arith.addf %o, %v : f64
    linalg.yield %a : f64
  } -> tensor<?x1xf64>
  %e = tensor.empty(%d) : tensor<?x4xf64>
  %c = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<?x4xf64>, tensor<?x1xf64>) outs(%e : tensor<?x4xf64>) {
  ^bb0(%v: f64, %m: f64, %o: f64):
    %a = arith.divf %m, %n : f64
    %b = arith.subf %v, %a : f64
    linalg.yield %b : f64
  } -> tensor<?x4xf64>
  %v = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<?x4xf64>) outs(%f1 : tensor<?x1xf64>) {
  ^bb0(%v: f64, %o: f64):
    %p = arith.mulf %v, %v : f64
    %a = arith.addf %o, %p : f64
    linalg.yield %a : f64
  } -> tensor<?x1xf64>
  %y = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %v, %g : tensor<?x4xf64>, tensor<?x1xf64>, tensor<4xf64>) outs(%e : tensor<?x4xf64>) {
  ^bb0(%a: f64, %m: f64, %w: f64, %o: f64):
    %b = arith.divf %m, %n : f64
    %b1 = arith.addf %b, %eps : f64
    %r = math.rsqrt %b1 : f64
    %p = arith.mulf %a, %r : f64
    %q = arith.mulf %p, %w : f64
    linalg.yield %q : f64
  } -> tensor<?x4xf64>
  return %y : tensor<?x4xf64>
}
func.func @reduce_unit_dims(%x: tensor<1x3x1xf64> {opt.param}) -> (tensor<3xf64>, tensor<1x1xf64>) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %q = math.sin %x : tensor<1x3x1xf64>
  %a = linalg.reduce {arith.addf} ins(%q : tensor<1x3x1xf64>) outs(%f : tensor<3xf64>) dimensions = [0, 2]
  %e1 = tensor.empty() : tensor<1x1xf64>
  %g = linalg.fill ins(%zero : f64) outs(%e1 : tensor<1x1xf64>) -> tensor<1x1xf64>
  %b = linalg.reduce {arith.maximumf} ins(%q : tensor<1x3x1xf64>) outs(%g : tensor<1x1xf64>) dimensions = [1]
  return %a, %b : tensor<3xf64>, tensor<1x1xf64>
}
func.func @min_nan_flavours(%x: tensor<3x5xf64> {opt.param}) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %inf = arith.constant 0x7FF0000000000000 : f64
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%inf : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %g = linalg.fill ins(%ninf : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %a = linalg.reduce {arith.minnumf} ins(%x : tensor<3x5xf64>) outs(%f : tensor<3xf64>) dimensions = [1]
  %b = linalg.reduce {arith.minimumf} ins(%x : tensor<3x5xf64>) outs(%f : tensor<3xf64>) dimensions = [1]
  // As StableHLO's maximum comes out of some lowerings.
  %c = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%g : tensor<3xf64>) {
  ^bb0(%v: f64, %o: f64):
    %gt = arith.cmpf ugt, %o, %v : f64
    %m = arith.select %gt, %o, %v : f64
    %n = arith.cmpf uno, %v, %v : f64
    %r = arith.select %n, %v, %m : f64
    linalg.yield %r : f64
  } -> tensor<3xf64>
  return %a, %b, %c : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @norms(%x: tensor<3x5xf64> {opt.param}) -> (tensor<3xf64>, tensor<3xf64>) {
  %zero = arith.constant 0.0 : f64
  %p = arith.constant 3.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %a = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%f : tensor<3xf64>) {
  ^bb0(%v: f64, %o: f64):
    %u = math.absf %v : f64
    %w = math.powf %u, %p : f64
    %s = arith.addf %w, %o : f64
    linalg.yield %s : f64
  } -> tensor<3xf64>
  %b = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%f : tensor<3xf64>) {
  ^bb0(%v: f64, %o: f64):
    %u = math.absf %v : f64
    %w = arith.maximumf %u, %o : f64
    linalg.yield %w : f64
  } -> tensor<3xf64>
  return %a, %b : tensor<3xf64>, tensor<3xf64>
}
// linalg.reduce with several inputs and outputs.
func.func @reduce_of_two(%x: tensor<3x5xf64> {opt.param}, %w: tensor<3x5xf64> {opt.param}) -> (tensor<3xf64>, tensor<3xf64>) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %y:2 = linalg.reduce ins(%x, %w : tensor<3x5xf64>, tensor<3x5xf64>) outs(%f, %f : tensor<3xf64>, tensor<3xf64>) dimensions = [1]
  (%a: f64, %b: f64, %o: f64, %q: f64) {
    %p = arith.mulf %a, %b : f64
    %s = arith.addf %o, %p : f64
    %t = arith.maximumf %q, %b : f64
    linalg.yield %s, %t : f64, f64
  }
  return %y#0, %y#1 : tensor<3xf64>, tensor<3xf64>
}
func.func @empty_max_and_product(%x: tensor<0x3xf64> {opt.param}, %w: tensor<3xf64> {opt.param}) -> (tensor<3xf64>, tensor<3xf64>) {
  %one = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%one : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %a = linalg.reduce {arith.maximumf} ins(%x : tensor<0x3xf64>) outs(%w : tensor<3xf64>) dimensions = [0]
  %b = linalg.reduce {arith.mulf} ins(%x : tensor<0x3xf64>) outs(%f : tensor<3xf64>) dimensions = [0]
  return %a, %b : tensor<3xf64>, tensor<3xf64>
}
func.func @prod_dynamic(%x: tensor<?x4xf64> {opt.param}) -> (tensor<4xf64>, tensor<?xf64>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f64
  %d = tensor.dim %x, %c0 : tensor<?x4xf64>
  %e = tensor.empty() : tensor<4xf64>
  %f = linalg.fill ins(%one : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %a = linalg.reduce {arith.mulf} ins(%x : tensor<?x4xf64>) outs(%f : tensor<4xf64>) dimensions = [0]
  %ed = tensor.empty(%d) : tensor<?xf64>
  %fd = linalg.fill ins(%one : f64) outs(%ed : tensor<?xf64>) -> tensor<?xf64>
  %b = linalg.reduce {arith.mulf} ins(%x : tensor<?x4xf64>) outs(%fd : tensor<?xf64>) dimensions = [1]
  return %a, %b : tensor<4xf64>, tensor<?xf64>
}
func.func @prod_all_dynamic(%x: tensor<?x?xf64> {opt.param}, %start: tensor<f64> {opt.param}) -> tensor<f64> {
  %a = linalg.reduce {arith.mulf} ins(%x : tensor<?x?xf64>) outs(%start : tensor<f64>) dimensions = [0, 1]
  return %a : tensor<f64>
}
// A recurrence whose terms depend on the position, with elementwise results beside it.
func.func @scan_dynamic(%x: tensor<?x?xf64> {opt.param}, %h: tensor<?xf64> {opt.param}) -> (tensor<?xf64>, tensor<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf64>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf64>
  %e = tensor.empty(%d0, %d1) : tensor<?x?xf64>
  %y:2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf64>) outs(%h, %e : tensor<?xf64>, tensor<?x?xf64>) {
  ^bb0(%v: f64, %o: f64, %u: f64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %f = arith.sitofp %k : i64 to f64
    %p = arith.mulf %o, %f : f64
    %q = arith.addf %p, %v : f64
    %s = math.sin %q : f64
    %t = arith.mulf %s, %v : f64
    linalg.yield %s, %t : f64, f64
  } -> (tensor<?xf64>, tensor<?x?xf64>)
  return %y#0, %y#1 : tensor<?xf64>, tensor<?x?xf64>
}
func.func @cumprod_dynamic(%x: tensor<?xf64> {opt.param}) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %m = arith.subi %n, %c1 : index
  %p = tensor.pad %x low[%m] high[0] {
  ^bb0(%i: index):
    tensor.yield %one : f64
  } : tensor<?xf64> to tensor<?xf64>
  %w = tensor.empty(%n) : tensor<?xf64>
  %f = linalg.fill ins(%one : f64) outs(%w : tensor<?xf64>) -> tensor<?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%p, %w : tensor<?xf64>, tensor<?xf64>) outs(%f : tensor<?xf64>) {
  ^bb0(%v: f64, %u: f64, %o: f64):
    %s = arith.mulf %o, %v : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  return %y : tensor<?xf64>
}
func.func @cumprod_by_mask_dynamic(%x: tensor<?xf64> {opt.param}) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %w = tensor.empty(%n) : tensor<?xf64>
  %f = linalg.fill ins(%one : f64) outs(%w : tensor<?xf64>) -> tensor<?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?xf64>) outs(%f : tensor<?xf64>) {
  ^bb0(%v: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi ule, %j, %i : index
    %t = arith.select %c, %v, %one : f64
    %s = arith.mulf %o, %t : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  return %y : tensor<?xf64>
}
