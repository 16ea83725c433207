// Contractions and convolutions beyond the plain named ones.

func.func @matmul_transposed(%a: tensor<3x2xf64> {opt.param}, %b: tensor<4x3xf64> {opt.param}) -> tensor<2x4xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2x4xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<2x4xf64>) -> tensor<2x4xf64>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<3x2xf64>, tensor<4x3xf64>) outs(%f : tensor<2x4xf64>) -> tensor<2x4xf64>
  %s = math.sin %y : tensor<2x4xf64>
  return %s : tensor<2x4xf64>
}
func.func @batch_matmul_dynamic(%a: tensor<?x3x2xf64> {opt.param}, %b: tensor<?x2x4xf64> {opt.param}) -> tensor<?x3x4xf64> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %d = tensor.dim %a, %c0 : tensor<?x3x2xf64>
  %e = tensor.empty(%d) : tensor<?x3x4xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x3x4xf64>) -> tensor<?x3x4xf64>
  %y = linalg.batch_matmul ins(%a, %b : tensor<?x3x2xf64>, tensor<?x2x4xf64>) outs(%f : tensor<?x3x4xf64>) -> tensor<?x3x4xf64>
  %s = math.sin %y : tensor<?x3x4xf64>
  return %s : tensor<?x3x4xf64>
}
func.func @contract(%a: tensor<2x3x4xf64> {opt.param}, %b: tensor<4x2x5xf64> {opt.param}) -> tensor<5x3x2xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<5x3x2xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<5x3x2xf64>) -> tensor<5x3x2xf64>
  %y = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, b, n)>, affine_map<(b, m, n, k) -> (n, m, b)>] ins(%a, %b : tensor<2x3x4xf64>, tensor<4x2x5xf64>) outs(%f : tensor<5x3x2xf64>) -> tensor<5x3x2xf64>
  %s = math.sin %y : tensor<5x3x2xf64>
  return %s : tensor<5x3x2xf64>
}
func.func @batch_broadcast(%a: tensor<2x3x4xf64> {opt.param}, %b: tensor<4x5xf64> {opt.param}) -> tensor<2x3x5xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2x3x5xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<2x3x5xf64>) -> tensor<2x3x5xf64>
  %y = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%a, %b : tensor<2x3x4xf64>, tensor<4x5xf64>) outs(%f : tensor<2x3x5xf64>) -> tensor<2x3x5xf64>
  %s = math.sin %y : tensor<2x3x5xf64>
  return %s : tensor<2x3x5xf64>
}
func.func @bias_as_init(%a: tensor<3x2xf64> {opt.param}, %b: tensor<2x4xf64> {opt.param}, %c: tensor<4xf64> {opt.param}) -> tensor<3x4xf64> {
  %e = tensor.empty() : tensor<3x4xf64>
  %f = linalg.broadcast ins(%c : tensor<4xf64>) outs(%e : tensor<3x4xf64>) dimensions = [0]
  %y = linalg.matmul ins(%a, %b : tensor<3x2xf64>, tensor<2x4xf64>) outs(%f : tensor<3x4xf64>) -> tensor<3x4xf64>
  %s = math.sin %y : tensor<3x4xf64>
  return %s : tensor<3x4xf64>
}
func.func @pack_unpack_mmt4d(%a: tensor<4x6xf64> {opt.param}, %b: tensor<8x6xf64> {opt.param}) -> tensor<4x8xf64> {
  %z = arith.constant 0.0 : f64
  %ea = tensor.empty() : tensor<2x3x2x2xf64>
  %pa = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %ea : tensor<4x6xf64> -> tensor<2x3x2x2xf64>
  %eb = tensor.empty() : tensor<4x3x2x2xf64>
  %pb = linalg.pack %b inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %eb : tensor<8x6xf64> -> tensor<4x3x2x2xf64>
  %ec = tensor.empty() : tensor<2x4x2x2xf64>
  %fc = linalg.fill ins(%z : f64) outs(%ec : tensor<2x4x2x2xf64>) -> tensor<2x4x2x2xf64>
  %m = linalg.mmt4d ins(%pa, %pb : tensor<2x3x2x2xf64>, tensor<4x3x2x2xf64>) outs(%fc : tensor<2x4x2x2xf64>) -> tensor<2x4x2x2xf64>
  %e = tensor.empty() : tensor<4x8xf64>
  %y = linalg.unpack %m inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<2x4x2x2xf64> -> tensor<4x8xf64>
  %s = math.sin %y : tensor<4x8xf64>
  return %s : tensor<4x8xf64>
}
func.func @pack_with_padding(%a: tensor<5x3xf64> {opt.param}, %v: tensor<f64> {opt.param}) -> tensor<2x3x2x2xf64> {
  %p = tensor.extract %v[] : tensor<f64>
  %e = tensor.empty() : tensor<2x3x2x2xf64>
  %y = linalg.pack %a padding_value(%p : f64) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2] into %e : tensor<5x3xf64> -> tensor<2x3x2x2xf64>
  %s = math.sin %y : tensor<2x3x2x2xf64>
  return %s : tensor<2x3x2x2xf64>
}
func.func @unpack_with_padding(%a: tensor<3x2x2x2xf64> {opt.param}) -> tensor<5x3xf64> {
  %e = tensor.empty() : tensor<5x3xf64>
  %y = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<3x2x2x2xf64> -> tensor<5x3xf64>
  %s = math.sin %y : tensor<5x3xf64>
  return %s : tensor<5x3xf64>
}
func.func @depthwise(%x: tensor<1x5x5x2xf64> {opt.param}, %w: tensor<3x3x2xf64> {opt.param}) -> tensor<1x2x2x2xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<1x2x2x2xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
  %y = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x5x5x2xf64>, tensor<3x3x2xf64>) outs(%f : tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
  %s = math.sin %y : tensor<1x2x2x2xf64>
  return %s : tensor<1x2x2x2xf64>
}
func.func @grouped(%x: tensor<1x2x2x4x4xf64> {opt.param}, %w: tensor<2x3x2x3x3xf64> {opt.param}, %b: tensor<6xf64> {opt.param}) -> tensor<1x6x2x2xf64> {
  %e = tensor.empty() : tensor<1x6x2x2xf64>
  %f = linalg.broadcast ins(%b : tensor<6xf64>) outs(%e : tensor<1x6x2x2xf64>) dimensions = [0, 2, 3]
  %g = tensor.expand_shape %f [[0], [1, 2], [3], [4]] output_shape [1, 2, 3, 2, 2] : tensor<1x6x2x2xf64> into tensor<1x2x3x2x2xf64>
  %y = linalg.conv_2d_ngchw_gfchw {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x2x2x4x4xf64>, tensor<2x3x2x3x3xf64>) outs(%g : tensor<1x2x3x2x2xf64>) -> tensor<1x2x3x2x2xf64>
  %c = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<1x2x3x2x2xf64> into tensor<1x6x2x2xf64>
  %s = math.sin %c : tensor<1x6x2x2xf64>
  return %s : tensor<1x6x2x2xf64>
}
func.func @conv_dynamic_batch(%x: tensor<?x2x5x5xf64> {opt.param}, %w: tensor<3x2x3x3xf64> {opt.param}) -> tensor<?x3x2x2xf64> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %d = tensor.dim %x, %c0 : tensor<?x2x5x5xf64>
  %e = tensor.empty(%d) : tensor<?x3x2x2xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x3x2x2xf64>) -> tensor<?x3x2x2xf64>
  %y = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<?x2x5x5xf64>, tensor<3x2x3x3xf64>) outs(%f : tensor<?x3x2x2xf64>) -> tensor<?x3x2x2xf64>
  %s = math.sin %y : tensor<?x3x2x2xf64>
  return %s : tensor<?x3x2x2xf64>
}
// As StableHLO comes out for padding and layouts of its own: a generic over windows.
func.func @conv_generic_hwcn(%x: tensor<5x5x2x1xf64> {opt.param}, %w: tensor<3x3x2x3xf64> {opt.param}) -> tensor<3x3x1x3xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3x3x1x3xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<3x3x1x3xf64>) -> tensor<3x3x1x3xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(h, w, n, f, i, j, c) -> (h + i, w + j, c, n)>, affine_map<(h, w, n, f, i, j, c) -> (i, j, c, f)>, affine_map<(h, w, n, f, i, j, c) -> (h, w, n, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<5x5x2x1xf64>, tensor<3x3x2x3xf64>) outs(%f : tensor<3x3x1x3xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %p = arith.mulf %a, %b : f64
    %s = arith.addf %o, %p : f64
    linalg.yield %s : f64
  } -> tensor<3x3x1x3xf64>
  %s = math.sin %y : tensor<3x3x1x3xf64>
  return %s : tensor<3x3x1x3xf64>
}
// torch's average pooling with counts that differ at the border.
func.func @average_pool(%x: tensor<1x2x5x5xf64> {opt.param}) -> tensor<1x2x3x3xf64> {
  %z = arith.constant 0.0 : f64
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f64
  } : tensor<1x2x5x5xf64> to tensor<1x2x7x7xf64>
  %w = tensor.empty() : tensor<3x3xf64>
  %e = tensor.empty() : tensor<1x2x3x3xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<1x2x3x3xf64>) -> tensor<1x2x3x3xf64>
  %y = linalg.pooling_nchw_sum {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x2x7x7xf64>, tensor<3x3xf64>) outs(%f : tensor<1x2x3x3xf64>) -> tensor<1x2x3x3xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<1x2x3x3xf64>) outs(%e : tensor<1x2x3x3xf64>) {
  ^bb0(%v: f64, %o: f64):
    %i = linalg.index 2 : index
    %s = arith.muli %i, %c2 : index
    %lo = arith.subi %s, %c1 : index
    %hi = arith.addi %s, %c2 : index
    %c0 = arith.constant 0 : index
    %l = arith.maxsi %lo, %c0 : index
    %h = arith.minsi %hi, %c5 : index
    %n = arith.subi %h, %l : index
    %m = arith.index_cast %n : index to i64
    %k = arith.sitofp %m : i64 to f64
    %q = arith.divf %v, %k : f64
    linalg.yield %q : f64
  } -> tensor<1x2x3x3xf64>
  %s = math.sin %r : tensor<1x2x3x3xf64>
  return %s : tensor<1x2x3x3xf64>
}
func.func @max_pool_padded(%x: tensor<1x2x5x5xf64> {opt.param}) -> tensor<1x2x3x3xf64> {
  %z = arith.constant 0xFFF0000000000000 : f64
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f64
  } : tensor<1x2x5x5xf64> to tensor<1x2x7x7xf64>
  %w = tensor.empty() : tensor<3x3xf64>
  %e = tensor.empty() : tensor<1x2x3x3xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<1x2x3x3xf64>) -> tensor<1x2x3x3xf64>
  %y = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x2x7x7xf64>, tensor<3x3xf64>) outs(%f : tensor<1x2x3x3xf64>) -> tensor<1x2x3x3xf64>
  %s = math.sin %y : tensor<1x2x3x3xf64>
  return %s : tensor<1x2x3x3xf64>
}
func.func @max_pool_with_index(%x: tensor<1x1x4x4xf64> {opt.param}) -> tensor<1x1x2x2xf64> {
  %z = arith.constant 0xFFF0000000000000 : f64
  %m1 = arith.constant -1 : i64
  %w = tensor.empty() : tensor<2x2xf64>
  %e = tensor.empty() : tensor<1x1x2x2xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<1x1x2x2xf64>) -> tensor<1x1x2x2xf64>
  %y = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x1x4x4xf64>, tensor<2x2xf64>) outs(%f : tensor<1x1x2x2xf64>) -> tensor<1x1x2x2xf64>
  %ei = tensor.empty() : tensor<1x1x2x2xi64>
  %fi = linalg.fill ins(%m1 : i64) outs(%ei : tensor<1x1x2x2xi64>) -> tensor<1x1x2x2xi64>
  %ew = tensor.empty() : tensor<2x2xf64>
  %ix = linalg.generic {indexing_maps = [affine_map<(a, b, c, d, i, j) -> (a, b, c, d)>, affine_map<(a, b, c, d, i, j) -> (i, j)>, affine_map<(a, b, c, d, i, j) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%y, %ew : tensor<1x1x2x2xf64>, tensor<2x2xf64>) outs(%fi : tensor<1x1x2x2xi64>) {
  ^bb0(%v: f64, %u: f64, %o: i64):
    %a = linalg.index 0 : index
    %b = linalg.index 1 : index
    %c = linalg.index 2 : index
    %d = linalg.index 3 : index
    %i = linalg.index 4 : index
    %j = linalg.index 5 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %ch = arith.muli %c, %c2 : index
    %h = arith.addi %ch, %i : index
    %dw = arith.muli %d, %c2 : index
    %k = arith.addi %dw, %j : index
    %t = tensor.extract %x[%a, %b, %h, %k] : tensor<1x1x4x4xf64>
    %hk = arith.muli %h, %c4 : index
    %flat = arith.addi %hk, %k : index
    %n = arith.index_cast %flat : index to i64
    %eq = arith.cmpf oeq, %t, %v : f64
    %r = arith.select %eq, %n, %o : i64
    linalg.yield %r : i64
  } -> tensor<1x1x2x2xi64>
  %s = math.sin %y : tensor<1x1x2x2xf64>
  return %s : tensor<1x1x2x2xf64>
}
func.func @conv_1d_padded(%x: tensor<2x3x9xf64> {opt.param}, %w: tensor<4x3x3xf64> {opt.param}, %b: tensor<2x4x5xf64> {opt.param}) -> tensor<2x4x5xf64> {
  %zero = arith.constant 0.0 : f64
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f64
  } : tensor<2x3x9xf64> to tensor<2x3x12xf64>
  %y = linalg.conv_1d_ncw_fcw {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%p, %w : tensor<2x3x12xf64>, tensor<4x3x3xf64>) outs(%b : tensor<2x4x5xf64>) -> tensor<2x4x5xf64>
  %z = math.sin %y : tensor<2x4x5xf64>
  return %z : tensor<2x4x5xf64>
}
func.func @conv_1d_channels_last(%x: tensor<?x9x3xf64> {opt.param}, %w: tensor<3x3x4xf64> {opt.param}) -> tensor<?x7x4xf64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x9x3xf64>
  %p = tensor.pad %x low[0, 2, 0] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f64
  } : tensor<?x9x3xf64> to tensor<?x11x3xf64>
  %e = tensor.empty(%d) : tensor<?x7x4xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<?x7x4xf64>) -> tensor<?x7x4xf64>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<2> : tensor<1xi64>} ins(%p, %w : tensor<?x11x3xf64>, tensor<3x3x4xf64>) outs(%f : tensor<?x7x4xf64>) -> tensor<?x7x4xf64>
  %z = math.sin %y : tensor<?x7x4xf64>
  return %z : tensor<?x7x4xf64>
}
func.func @depthwise_1d(%x: tensor<2x3x9xf64> {opt.param}, %w: tensor<3x4xf64> {opt.param}) -> tensor<2x3x6xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2x3x6xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<2x3x6xf64>) -> tensor<2x3x6xf64>
  %y = linalg.depthwise_conv_1d_ncw_cw ins(%x, %w : tensor<2x3x9xf64>, tensor<3x4xf64>) outs(%f : tensor<2x3x6xf64>) -> tensor<2x3x6xf64>
  %z = math.sin %y : tensor<2x3x6xf64>
  return %z : tensor<2x3x6xf64>
}
// As JAX has it: one filter for each channel in a dimension of its own.
func.func @depthwise_with_unit_dimension(%x: tensor<?x6x7x3xf64> {opt.param}, %w: tensor<3x3x3x1xf64> {opt.param}) -> tensor<?x3x7x3x1xf64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x6x7x3xf64>
  %p = tensor.pad %x low[0, 0, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f64
  } : tensor<?x6x7x3xf64> to tensor<?x7x9x3xf64>
  %e = tensor.empty(%d) : tensor<?x3x7x3x1xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<?x3x7x3x1xf64>) -> tensor<?x3x7x3x1xf64>
  %y = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%p, %w : tensor<?x7x9x3xf64>, tensor<3x3x3x1xf64>) outs(%f : tensor<?x3x7x3x1xf64>) -> tensor<?x3x7x3x1xf64>
  %z = math.sin %y : tensor<?x3x7x3x1xf64>
  return %z : tensor<?x3x7x3x1xf64>
}
func.func @large_groups(%x: tensor<1x2x8x4x3xf64> {opt.param}, %w: tensor<2x8x8x3x2xf64> {opt.param}) -> tensor<1x2x8x3x2xf64> {
  %zero = arith.constant 0.0 : f64
  %p = tensor.pad %x low[0, 0, 0, 0, 0] high[0, 0, 0, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : f64
  } : tensor<1x2x8x4x3xf64> to tensor<1x2x8x5x3xf64>
  %e = tensor.empty() : tensor<1x2x8x3x2xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<1x2x8x3x2xf64>) -> tensor<1x2x8x3x2xf64>
  %y = linalg.conv_2d_ngchw_gfchw ins(%p, %w : tensor<1x2x8x5x3xf64>, tensor<2x8x8x3x2xf64>) outs(%f : tensor<1x2x8x3x2xf64>) -> tensor<1x2x8x3x2xf64>
  %z = math.sin %y : tensor<1x2x8x3x2xf64>
  return %z : tensor<1x2x8x3x2xf64>
}
