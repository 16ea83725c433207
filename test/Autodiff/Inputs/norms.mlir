// Norms: remat-train detaches their means, the plain lowering does not. The sum of squared differences
// is one kernel, makes the mean itself, or is of differences that something else reads.
func.func @batch_norm(%x: tensor<3x2x2xf64> {opt.param}, %g: tensor<2xf64> {opt.param}) -> tensor<3x2x2xf64> {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 6.0 : f64
  %eps = arith.constant 0.1 : f64
  %e = tensor.empty() : tensor<2xf64>
  %out = tensor.empty() : tensor<3x2x2xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %total = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x : tensor<3x2x2xf64>) outs(%z : tensor<2xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %s, %a : f64
    linalg.yield %r : f64
  } -> tensor<2xf64>
  %mean = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%total : tensor<2xf64>) outs(%e : tensor<2xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.divf %a, %n : f64
    linalg.yield %r : f64
  } -> tensor<2xf64>
  %squares = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x, %mean : tensor<3x2x2xf64>, tensor<2xf64>) outs(%z : tensor<2xf64>) {
  ^bb0(%a: f64, %m: f64, %s: f64):
    %d = arith.subf %a, %m : f64
    %p = arith.mulf %d, %d : f64
    %r = arith.addf %s, %p : f64
    linalg.yield %r : f64
  } -> tensor<2xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean, %squares, %g : tensor<3x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) outs(%out : tensor<3x2x2xf64>) {
  ^bb0(%a: f64, %m: f64, %q: f64, %w: f64, %o: f64):
    %d = arith.subf %a, %m : f64
    %v = arith.divf %q, %n : f64
    %u = arith.addf %v, %eps : f64
    %i = math.rsqrt %u : f64
    %t = arith.mulf %d, %i : f64
    %r = arith.mulf %t, %w : f64
    linalg.yield %r : f64
  } -> tensor<3x2x2xf64>
  return %y : tensor<3x2x2xf64>
}
func.func @group_norm(%x: tensor<2x6xf64> {opt.param}) -> (tensor<2x2x3xf64>, tensor<2x2xf64>) {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 3.0 : f64
  %fewer = arith.constant 2.0 : f64
  %e = tensor.empty() : tensor<2x2xf64>
  %out = tensor.empty() : tensor<2x2x3xf64>
  %b = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 2, 3] : tensor<2x6xf64> into tensor<2x2x3xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e : tensor<2x2xf64>) -> tensor<2x2xf64>
  %total = linalg.reduce ins(%b : tensor<2x2x3xf64>) outs(%z : tensor<2x2xf64>) dimensions = [2]
    (%a: f64, %s: f64) {
      %r = arith.addf %s, %a : f64
      linalg.yield %r : f64
    }
  %variance = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%b, %total : tensor<2x2x3xf64>, tensor<2x2xf64>) outs(%z : tensor<2x2xf64>) {
  ^bb0(%a: f64, %t: f64, %s: f64):
    %m = arith.divf %t, %n : f64
    %d = arith.subf %m, %a : f64
    %p = arith.mulf %d, %d : f64
    %q = arith.divf %p, %fewer : f64
    %r = arith.addf %s, %q : f64
    linalg.yield %r : f64
  } -> tensor<2x2xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b, %total, %variance : tensor<2x2x3xf64>, tensor<2x2xf64>, tensor<2x2xf64>) outs(%out : tensor<2x2x3xf64>) {
  ^bb0(%a: f64, %t: f64, %v: f64, %o: f64):
    %m = arith.divf %t, %n : f64
    %d = arith.subf %a, %m : f64
    %i = math.exp %v : f64
    %r = arith.mulf %d, %i : f64
    linalg.yield %r : f64
  } -> tensor<2x2x3xf64>
  return %y, %total : tensor<2x2x3xf64>, tensor<2x2xf64>
}
func.func @layer_norm(%x: tensor<3x5xf64> {opt.param}) -> tensor<3x5xf64> {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 0.2 : f64
  %eps = arith.constant 0.1 : f64
  %e1 = tensor.empty() : tensor<3x1xf64>
  %e = tensor.empty() : tensor<3x5xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e1 : tensor<3x1xf64>) -> tensor<3x1xf64>
  %total = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5xf64>) outs(%z : tensor<3x1xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %s, %a : f64
    linalg.yield %r : f64
  } -> tensor<3x1xf64>
  %mean = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%total : tensor<3x1xf64>) outs(%e1 : tensor<3x1xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.mulf %a, %n : f64
    linalg.yield %r : f64
  } -> tensor<3x1xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %mean : tensor<3x5xf64>, tensor<3x1xf64>) outs(%e : tensor<3x5xf64>) {
  ^bb0(%a: f64, %m: f64, %o: f64):
    %r = arith.subf %a, %m : f64
    linalg.yield %r : f64
  } -> tensor<3x5xf64>
  %p = linalg.square ins(%d : tensor<3x5xf64>) outs(%e : tensor<3x5xf64>) -> tensor<3x5xf64>
  %squares = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<3x5xf64>) outs(%z : tensor<3x1xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %s, %a : f64
    linalg.yield %r : f64
  } -> tensor<3x1xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%d, %squares : tensor<3x5xf64>, tensor<3x1xf64>) outs(%e : tensor<3x5xf64>) {
  ^bb0(%a: f64, %q: f64, %o: f64):
    %v = arith.mulf %q, %n : f64
    %u = arith.addf %v, %eps : f64
    %i = math.rsqrt %u : f64
    %r = arith.mulf %a, %i : f64
    linalg.yield %r : f64
  } -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
