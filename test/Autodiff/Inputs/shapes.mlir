// Operations that move elements, with static, dynamic, empty and unit dimensions.

func.func @strided_slice(%x: tensor<8x6xf64> {opt.param}) -> tensor<3x2xf64> {
  %q = arith.mulf %x, %x : tensor<8x6xf64>
  %y = tensor.extract_slice %q[1, 0] [3, 2] [2, 3] : tensor<8x6xf64> to tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}
func.func @rank_reducing_slices(%x: tensor<4x1x6xf64> {opt.param}) -> (tensor<6xf64>, tensor<4xf64>, tensor<f64>) {
  %q = arith.mulf %x, %x : tensor<4x1x6xf64>
  %a = tensor.extract_slice %q[2, 0, 0] [1, 1, 6] [1, 1, 1] : tensor<4x1x6xf64> to tensor<6xf64>
  %b = tensor.extract_slice %q[0, 0, 1] [4, 1, 1] [1, 1, 1] : tensor<4x1x6xf64> to tensor<4xf64>
  %c = tensor.extract_slice %q[3, 0, 5] [1, 1, 1] [1, 1, 1] : tensor<4x1x6xf64> to tensor<f64>
  return %a, %b, %c : tensor<6xf64>, tensor<4xf64>, tensor<f64>
}
func.func @dynamic_slice(%x: tensor<?x4xf64> {opt.param}, %n: tensor<2xi64>) -> tensor<?x2xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n0 = tensor.extract %n[%c0] : tensor<2xi64>
  %i0 = arith.index_cast %n0 : i64 to index
  %d = tensor.dim %x, %c0 : tensor<?x4xf64>
  %s = arith.subi %d, %i0 : index
  %q = arith.mulf %x, %x : tensor<?x4xf64>
  %y = tensor.extract_slice %q[%i0, 1] [%s, 2] [1, 1] : tensor<?x4xf64> to tensor<?x2xf64>
  %z = math.sin %y : tensor<?x2xf64>
  return %z : tensor<?x2xf64>
}
func.func @strided_insert(%x: tensor<3x3xf64> {opt.param}, %w: tensor<7x7xf64> {opt.param}) -> tensor<7x7xf64> {
  %a = math.sin %x : tensor<3x3xf64>
  %b = math.cos %w : tensor<7x7xf64>
  %y = tensor.insert_slice %a into %b[0, 1] [3, 3] [3, 2] : tensor<3x3xf64> into tensor<7x7xf64>
  %z = arith.mulf %y, %y : tensor<7x7xf64>
  return %z : tensor<7x7xf64>
}
func.func @zero_insertion(%x: tensor<1x2x3x3xf64> {opt.param}) -> tensor<1x2x7x7xf64> {
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<1x2x7x7xf64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<1x2x7x7xf64>) -> tensor<1x2x7x7xf64>
  %y = tensor.insert_slice %x into %f[0, 0, 1, 1] [1, 2, 3, 3] [1, 1, 2, 2] : tensor<1x2x3x3xf64> into tensor<1x2x7x7xf64>
  %z = math.sin %y : tensor<1x2x7x7xf64>
  return %z : tensor<1x2x7x7xf64>
}
func.func @dynamic_insert(%x: tensor<?xf64> {opt.param}, %w: tensor<8xf64> {opt.param}, %o: tensor<i64>) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %ov = tensor.extract %o[] : tensor<i64>
  %oi = arith.index_cast %ov : i64 to index
  %d = tensor.dim %x, %c0 : tensor<?xf64>
  %y = tensor.insert_slice %x into %w[%oi] [%d] [2] : tensor<?xf64> into tensor<8xf64>
  %z = arith.mulf %y, %y : tensor<8xf64>
  return %z : tensor<8xf64>
}
func.func @rank_reducing_insert(%x: tensor<4xf64> {opt.param}, %w: tensor<3x4x2xf64> {opt.param}) -> tensor<3x4x2xf64> {
  %y = tensor.insert_slice %x into %w[1, 0, 1] [1, 4, 1] [1, 1, 1] : tensor<4xf64> into tensor<3x4x2xf64>
  %z = arith.mulf %y, %y : tensor<3x4x2xf64>
  return %z : tensor<3x4x2xf64>
}
func.func @pad_constant(%x: tensor<2x3xf64> {opt.param}) -> tensor<5x6xf64> {
  %c = arith.constant 0.5 : f64
  %q = math.sin %x : tensor<2x3xf64>
  %y = tensor.pad %q low[1, 2] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f64
  } : tensor<2x3xf64> to tensor<5x6xf64>
  %z = arith.mulf %y, %y : tensor<5x6xf64>
  return %z : tensor<5x6xf64>
}
func.func @pad_active_value(%x: tensor<2x3xf64> {opt.param}, %v: tensor<f64> {opt.param}) -> tensor<5x6xf64> {
  %s = tensor.extract %v[] : tensor<f64>
  %q = math.sin %x : tensor<2x3xf64>
  %y = tensor.pad %q low[1, 2] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %s : f64
  } : tensor<2x3xf64> to tensor<5x6xf64>
  %z = arith.mulf %y, %y : tensor<5x6xf64>
  return %z : tensor<5x6xf64>
}
func.func @pad_active_body(%x: tensor<3xf64> {opt.param}, %t: tensor<8xf64> {opt.param}) -> tensor<8xf64> {
  %y = tensor.pad %x low[2] high[3] {
  ^bb0(%i: index):
    %e = tensor.extract %t[%i] : tensor<8xf64>
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f64
    %s = math.sin %e : f64
    %p = arith.mulf %s, %f : f64
    tensor.yield %p : f64
  } : tensor<3xf64> to tensor<8xf64>
  %z = arith.mulf %y, %y : tensor<8xf64>
  return %z : tensor<8xf64>
}
func.func @pad_dynamic(%x: tensor<?x3xf64> {opt.param}, %n: tensor<i64>) -> tensor<?x5xf64> {
  %c = arith.constant 0.0 : f64
  %nv = tensor.extract %n[] : tensor<i64>
  %ni = arith.index_cast %nv : i64 to index
  %q = math.sin %x : tensor<?x3xf64>
  %y = tensor.pad %q low[%ni, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f64
  } : tensor<?x3xf64> to tensor<?x5xf64>
  %z = math.cos %y : tensor<?x5xf64>
  return %z : tensor<?x5xf64>
}
func.func @concat_static(%x: tensor<2x3xf64> {opt.param}, %y: tensor<4x3xf64> {opt.param}) -> tensor<8x3xf64> {
  %c = tensor.concat dim(0) %x, %y, %x : (tensor<2x3xf64>, tensor<4x3xf64>, tensor<2x3xf64>) -> tensor<8x3xf64>
  %z = arith.mulf %c, %c : tensor<8x3xf64>
  return %z : tensor<8x3xf64>
}
func.func @concat_dynamic(%x: tensor<?x3xf64> {opt.param}, %y: tensor<?x3xf64> {opt.param}) -> tensor<?x3xf64> {
  %c = tensor.concat dim(0) %x, %y, %x : (tensor<?x3xf64>, tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
  %z = arith.mulf %c, %c : tensor<?x3xf64>
  return %z : tensor<?x3xf64>
}
func.func @concat_inner(%x: tensor<2x3xf64> {opt.param}, %y: tensor<2x1xf64> {opt.param}) -> tensor<2x4xf64> {
  %c = tensor.concat dim(1) %x, %y : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x4xf64>
  %z = arith.mulf %c, %c : tensor<2x4xf64>
  return %z : tensor<2x4xf64>
}
func.func @generate(%t: tensor<8xf64> {opt.param}, %w: tensor<f64> {opt.param}) -> tensor<2x4xf64> {
  %s = tensor.extract %w[] : tensor<f64>
  %c4 = arith.constant 4 : index
  %y = tensor.generate {
  ^bb0(%i: index, %j: index):
    %m = arith.muli %i, %c4 : index
    %k = arith.addi %m, %j : index
    %e = tensor.extract %t[%k] : tensor<8xf64>
    %p = arith.mulf %e, %e : f64
    %r = arith.mulf %p, %s : f64
    tensor.yield %r : f64
  } : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}
func.func @generate_dynamic(%t: tensor<?xf64> {opt.param}) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %t, %c0 : tensor<?xf64>
  %y = tensor.generate %d {
  ^bb0(%i: index):
    %m = arith.subi %d, %i : index
    %k = arith.subi %m, %c1 : index
    %e = tensor.extract %t[%k] : tensor<?xf64>
    %p = arith.mulf %e, %e : f64
    tensor.yield %p : f64
  } : tensor<?xf64>
  return %y : tensor<?xf64>
}
func.func @from_elements(%w: tensor<4xf64> {opt.param}) -> tensor<2x2xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %w[%c0] : tensor<4xf64>
  %b = tensor.extract %w[%c1] : tensor<4xf64>
  %p = arith.mulf %a, %b : f64
  %q = math.sin %p : f64
  %y = tensor.from_elements %a, %p, %q, %a : tensor<2x2xf64>
  return %y : tensor<2x2xf64>
}
func.func @splat(%w: tensor<4xf64> {opt.param}) -> (tensor<2x2xf64>, tensor<f64>) {
  %c0 = arith.constant 0 : index
  %a = tensor.extract %w[%c0] : tensor<4xf64>
  %p = arith.mulf %a, %a : f64
  %y = tensor.splat %p : tensor<2x2xf64>
  %z = tensor.splat %p : tensor<f64>
  return %y, %z : tensor<2x2xf64>, tensor<f64>
}
func.func @splat_dynamic(%w: tensor<?xf64> {opt.param}) -> tensor<?x2xf64> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %w, %c0 : tensor<?xf64>
  %a = tensor.extract %w[%c0] : tensor<?xf64>
  %p = arith.mulf %a, %a : f64
  %y = tensor.splat %p[%d] : tensor<?x2xf64>
  return %y : tensor<?x2xf64>
}
func.func @reshape_static(%w: tensor<4x3xf64> {opt.param}) -> tensor<2x6xf64> {
  %s = arith.constant dense<[2, 6]> : tensor<2xi64>
  %q = arith.mulf %w, %w : tensor<4x3xf64>
  %y = tensor.reshape %q(%s) : (tensor<4x3xf64>, tensor<2xi64>) -> tensor<2x6xf64>
  %z = math.sin %y : tensor<2x6xf64>
  return %z : tensor<2x6xf64>
}
func.func @reshape_dynamic(%w: tensor<?x4xf64> {opt.param}) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %d = tensor.dim %w, %c0 : tensor<?x4xf64>
  %n = arith.muli %d, %c4 : index
  %s = tensor.from_elements %n : tensor<1xindex>
  %q = arith.mulf %w, %w : tensor<?x4xf64>
  %y = tensor.reshape %q(%s) : (tensor<?x4xf64>, tensor<1xindex>) -> tensor<?xf64>
  %z = math.sin %y : tensor<?xf64>
  return %z : tensor<?xf64>
}
func.func @expand_collapse_dynamic(%w: tensor<?x4xf64> {opt.param}) -> tensor<?x2xf64> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %w, %c0 : tensor<?x4xf64>
  %q = arith.mulf %w, %w : tensor<?x4xf64>
  %e = tensor.expand_shape %q [[0], [1, 2]] output_shape [%d, 2, 2] : tensor<?x4xf64> into tensor<?x2x2xf64>
  %y = tensor.collapse_shape %e [[0, 1], [2]] : tensor<?x2x2xf64> into tensor<?x2xf64>
  %z = math.sin %y : tensor<?x2xf64>
  return %z : tensor<?x2xf64>
}
func.func @expand_unit(%w: tensor<f64> {opt.param}) -> tensor<1x1xf64> {
  %e = tensor.expand_shape %w [] output_shape [1, 1] : tensor<f64> into tensor<1x1xf64>
  %z = math.sin %e : tensor<1x1xf64>
  return %z : tensor<1x1xf64>
}
func.func @collapse_unit(%w: tensor<1x1xf64> {opt.param}) -> tensor<f64> {
  %q = math.sin %w : tensor<1x1xf64>
  %e = tensor.collapse_shape %q [] : tensor<1x1xf64> into tensor<f64>
  return %e : tensor<f64>
}
func.func @cast(%w: tensor<4x?xf64> {opt.param}) -> tensor<?x3xf64> {
  %q = math.sin %w : tensor<4x?xf64>
  %e = tensor.cast %q : tensor<4x?xf64> to tensor<?x3xf64>
  %z = math.cos %e : tensor<?x3xf64>
  return %z : tensor<?x3xf64>
}
func.func @bitcast_inactive(%w: tensor<4xf64> {opt.param}, %m: tensor<4xi64>) -> tensor<4xf64> {
  %b = tensor.bitcast %m : tensor<4xi64> to tensor<4xf64>
  %z = arith.addf %w, %b : tensor<4xf64>
  %y = arith.mulf %z, %w : tensor<4xf64>
  return %y : tensor<4xf64>
}
func.func @empty_dimension(%w: tensor<0x4xf64> {opt.param}, %v: tensor<2x4xf64> {opt.param}) -> (tensor<2x4xf64>, tensor<4xf64>) {
  %c = tensor.concat dim(0) %w, %v : (tensor<0x4xf64>, tensor<2x4xf64>) -> tensor<2x4xf64>
  %z = arith.mulf %c, %c : tensor<2x4xf64>
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %s = math.sin %w : tensor<0x4xf64>
  %r = linalg.reduce {arith.addf} ins(%s : tensor<0x4xf64>) outs(%f : tensor<4xf64>) dimensions = [0]
  return %z, %r : tensor<2x4xf64>, tensor<4xf64>
}
func.func @insert_elements(%w: tensor<2x3xf64> {opt.param}, %s: tensor<f64> {opt.param}) -> tensor<2x3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tensor.extract %s[] : tensor<f64>
  %t = math.sin %v : f64
  %a = tensor.insert %t into %w[%c0, %c1] : tensor<2x3xf64>
  %b = tensor.insert %v into %a[%c1, %c1] : tensor<2x3xf64>
  %z = arith.mulf %b, %b : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}
func.func @select_tensors(%w: tensor<4xf64> {opt.param}, %v: tensor<4xf64> {opt.param}, %c: tensor<i1>) -> tensor<4xf64> {
  %p = tensor.extract %c[] : tensor<i1>
  %a = math.sin %w : tensor<4xf64>
  %b = math.cos %v : tensor<4xf64>
  %y = arith.select %p, %a, %b : tensor<4xf64>
  %z = arith.mulf %y, %v : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @splits_and_stack(%x: tensor<4x6xf64> {opt.param}) -> tensor<3x4x2xf64> {
  %a = tensor.extract_slice %x[0, 0] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %b = tensor.extract_slice %x[0, 2] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %c = tensor.extract_slice %x[0, 4] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %p = arith.mulf %a, %b : tensor<4x2xf64>
  %e0 = tensor.expand_shape %p [[0, 1], [2]] output_shape [1, 4, 2] : tensor<4x2xf64> into tensor<1x4x2xf64>
  %e1 = tensor.expand_shape %c [[0, 1], [2]] output_shape [1, 4, 2] : tensor<4x2xf64> into tensor<1x4x2xf64>
  %e2 = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, 4, 2] : tensor<4x2xf64> into tensor<1x4x2xf64>
  %s = tensor.concat dim(0) %e0, %e1, %e2 : (tensor<1x4x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>) -> tensor<3x4x2xf64>
  %z = math.sin %s : tensor<3x4x2xf64>
  return %z : tensor<3x4x2xf64>
}
func.func @flip_and_roll(%x: tensor<2x5xf64> {opt.param}) -> tensor<2x5xf64> {
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<2x5xf64>
  %f = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x5xf64>) {
  ^bb0(%o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.subi %c4, %j : index
    %v = tensor.extract %x[%i, %k] : tensor<2x5xf64>
    linalg.yield %v : f64
  } -> tensor<2x5xf64>
  %a = tensor.extract_slice %f[0, 2] [2, 3] [1, 1] : tensor<2x5xf64> to tensor<2x3xf64>
  %b = tensor.extract_slice %f[0, 0] [2, 2] [1, 1] : tensor<2x5xf64> to tensor<2x2xf64>
  %r = tensor.concat dim(1) %a, %b : (tensor<2x3xf64>, tensor<2x2xf64>) -> tensor<2x5xf64>
  %z = math.sin %r : tensor<2x5xf64>
  return %z : tensor<2x5xf64>
}
func.func @reversed_map(%x: tensor<2x5xf64> {opt.param}) -> tensor<2x5xf64> {
  %e = tensor.empty() : tensor<2x5xf64>
  %f = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, -d1 + 4)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x5xf64>) outs(%e : tensor<2x5xf64>) {
  ^bb0(%i: f64, %o: f64):
    %v = math.sin %i : f64
    linalg.yield %v : f64
  } -> tensor<2x5xf64>
  return %f : tensor<2x5xf64>
}
// A loop's size that one operand's type tells, and not the type of the other, which is held at one place.
func.func @size_known_elsewhere(%w: tensor<?x?x1xf64> {opt.param}, %x: tensor<?x3x4xf64> {opt.param}) -> tensor<?x3x4xf64> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x3x4xf64>
  %e = tensor.empty(%d) : tensor<?x3x4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w, %x : tensor<?x?x1xf64>, tensor<?x3x4xf64>) outs(%e : tensor<?x3x4xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %p = arith.mulf %a, %b : f64
    linalg.yield %p : f64
  } -> tensor<?x3x4xf64>
  %z = math.sin %y : tensor<?x3x4xf64>
  return %z : tensor<?x3x4xf64>
}
