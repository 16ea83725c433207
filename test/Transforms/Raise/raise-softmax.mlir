// RUN: remat-opt %s --inline --remat-fold --remat-raise-softmax --canonicalize --split-input-file | FileCheck %s

// As torch-mlir writes it: an argmax beside the maximum, dimensions of size 1 kept.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#kept = affine_map<(i, j) -> (i, 0)>
// CHECK-LABEL: func @finds_torch(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]] = linalg.softmax {kept} dimension(1) ins(%[[X]] : tensor<4x8xf32>)
// CHECK-NOT: math.exp
// CHECK: return %[[Y]]
func.func @finds_torch(%x: tensor<4x8xf32>, %low: tensor<4xf32>, %index: tensor<4xi64>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %max:2 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%low, %index : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %n = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %s = arith.select %c, %j, %k : i64
    linalg.yield %n, %s : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  %m1 = tensor.expand_shape %max#0 [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %d = linalg.generic {indexing_maps = [#full, #kept, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m1 : tensor<4x8xf32>, tensor<4x1xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x1xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %s = linalg.generic {indexing_maps = [#full, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x8xf32>) outs(%z : tensor<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #kept, #full], iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<4x8xf32>, tensor<4x1xf32>) outs(%e : tensor<4x8xf32>) attrs = {kept} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// As IREE writes JAX's: broadcasts are kernels; along the first dimension.
#full = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func @finds_jax(
// CHECK: linalg.softmax dimension(0)
// CHECK-NOT: math.exp
// The same with exponentials that are wanted themselves, or a maximum of something else, stays.
// CHECK-LABEL: func @must_not_hide_exponentials(
// CHECK-NOT: linalg.softmax
// CHECK-LABEL: func @must_not_take_another_maximum(
// CHECK-NOT: linalg.softmax
// CHECK: return
!t = tensor<4x8xf32>
func.func @finds_jax(%x: !t, %low: tensor<8xf32>) -> !t {
  %y, %p = call @parts(%x, %x, %low) : (!t, !t, tensor<8xf32>) -> (!t, !t)
  return %y : !t
}
func.func @must_not_hide_exponentials(%x: !t, %low: tensor<8xf32>) -> (!t, !t) {
  %y, %p = call @parts(%x, %x, %low) : (!t, !t, tensor<8xf32>) -> (!t, !t)
  return %y, %p : !t, !t
}
func.func @must_not_take_another_maximum(%x: !t, %other: !t, %low: tensor<8xf32>) -> !t {
  %y, %p = call @parts(%x, %other, %low) : (!t, !t, tensor<8xf32>) -> (!t, !t)
  return %y : !t
}
func.func private @parts(%x: !t, %bound: !t, %low: tensor<8xf32>) -> (!t, !t) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !t
  %max = linalg.generic {indexing_maps = [#full, #column], iterator_types = ["reduction", "parallel"]}
      ins(%bound : !t) outs(%low : tensor<8xf32>) {
  ^bb0(%a: f32, %m: f32):
    %n = arith.maximumf %m, %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %maxes = linalg.broadcast ins(%max : tensor<8xf32>) outs(%e : !t) dimensions = [0]
  %d = linalg.generic {indexing_maps = [#full, #full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %maxes : !t, !t) outs(%e : !t) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> !t
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d : !t) outs(%e : !t) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> !t
  %e1 = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#full, #column], iterator_types = ["reduction", "parallel"]}
      ins(%p : !t) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %sums = linalg.broadcast ins(%s : tensor<8xf32>) outs(%e : !t) dimensions = [0]
  %y = linalg.generic {indexing_maps = [#full, #full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sums : !t, !t) outs(%e : !t) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> !t
  return %y, %p : !t, !t
}

// -----

// Only the division is in the loop.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
!t = tensor<4x8xf32>
// CHECK-LABEL: func @must_not_move_into_a_loop(
// CHECK-NOT: linalg.softmax
// CHECK: return
func.func @must_not_move_into_a_loop(%x: !t, %low: tensor<4xf32>, %n: index) -> !t {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : !t
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : !t) outs(%low : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32):
    %r = arith.maximumf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : !t, tensor<4xf32>) outs(%e : !t) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> !t
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d : !t) outs(%e : !t) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> !t
  %e1 = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : !t) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %result = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %x) -> !t {
    %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
        ins(%p, %s : !t, tensor<4xf32>) outs(%e : !t) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = arith.divf %a, %b : f32
      linalg.yield %r : f32
    } -> !t
    %next = arith.addf %carried, %y : !t
    scf.yield %next : !t
  }
  return %result : !t
}

// -----

// A softmax does not depend on its maximum, whose gradient JAX stops. A stop elsewhere says more.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
!t = tensor<4x8xf32>
!r = tensor<4xf32>
// CHECK-LABEL: func @finds_a_stopped_maximum(
// CHECK-SAME: %[[X:[^:]*]]:
// CHECK: %[[Y:.*]] = linalg.softmax dimension(1) ins(%[[X]] :
// CHECK-NOT: remat.stop_gradient
// CHECK: return %[[Y]]
func.func @finds_a_stopped_maximum(%x: !t, %low: !r) -> !t {
  %m = call @maximum(%x, %low) : (!t, !r) -> !r
  %kept = tensor.expand_shape %m [[0, 1]] output_shape [4, 1] : !r into tensor<4x1xf32>
  %stopped = remat.stop_gradient %kept : tensor<4x1xf32>
  %rows = tensor.collapse_shape %stopped [[0, 1]] : tensor<4x1xf32> into !r
  %again = remat.stop_gradient %rows : !r
  %p, %s = call @powers(%x, %again) : (!t, !r) -> (!t, !r)
  %y = call @divide(%p, %s) : (!t, !r) -> !t
  return %y : !t
}
// CHECK-LABEL: func @must_not_drop_the_stop_of_a_sum(
// CHECK-NOT: linalg.softmax
// CHECK: remat.stop_gradient
// CHECK: return
func.func @must_not_drop_the_stop_of_a_sum(%x: !t, %low: !r) -> !t {
  %m = call @maximum(%x, %low) : (!t, !r) -> !r
  %p, %s = call @powers(%x, %m) : (!t, !r) -> (!t, !r)
  %stopped = remat.stop_gradient %s : !r
  %y = call @divide(%p, %stopped) : (!t, !r) -> !t
  return %y : !t
}
// CHECK-LABEL: func @must_not_drop_the_stop_of_the_exponentials(
// CHECK-NOT: linalg.softmax
// CHECK: remat.stop_gradient
// CHECK: return
func.func @must_not_drop_the_stop_of_the_exponentials(%x: !t, %low: !r) -> !t {
  %m = call @maximum(%x, %low) : (!t, !r) -> !r
  %p, %s = call @powers(%x, %m) : (!t, !r) -> (!t, !r)
  %stopped = remat.stop_gradient %p : !t
  %y = call @divide(%stopped, %s) : (!t, !r) -> !t
  return %y : !t
}
func.func private @maximum(%x: !t, %low: !r) -> !r {
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : !t) outs(%low : !r) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.maximumf %o, %a : f32
    linalg.yield %n : f32
  } -> !r
  return %max : !r
}
func.func private @powers(%x: !t, %m: !r) -> (!t, !r) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !t
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : !t, !r) outs(%e : !t) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.subf %a, %b : f32
    linalg.yield %n : f32
  } -> !t
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d : !t) outs(%e : !t) {
  ^bb0(%a: f32, %o: f32):
    %n = math.exp %a : f32
    linalg.yield %n : f32
  } -> !t
  %row = tensor.empty() : !r
  %z = linalg.fill ins(%zero : f32) outs(%row : !r) -> !r
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : !t) outs(%z : !r) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.addf %o, %a : f32
    linalg.yield %n : f32
  } -> !r
  return %p, %s : !t, !r
}
func.func private @divide(%p: !t, %s: !r) -> !t {
  %e = tensor.empty() : !t
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : !t, !r) outs(%e : !t) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.divf %a, %b : f32
    linalg.yield %n : f32
  } -> !t
  return %y : !t
}

// -----

// As JAX's dot_product_attention writes it for one group of heads: a maximum with its gradient stopped, of scores before a dimension of
// size 1 moves, which merges all dimensions and takes them apart.
#full = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#kept = affine_map<(b, i, j) -> (b, i, 0)>
// CHECK-LABEL: func @moved_units(
// CHECK-SAME: %[[X:.*]]: tensor<4x1x8xf32>
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[X]]
// CHECK: %[[E:.*]] = tensor.expand_shape %[[C]]
// CHECK: %[[Y:.*]] = linalg.softmax dimension(2) ins(%[[E]] : tensor<1x4x8xf32>)
// CHECK-NOT: math.exp
// CHECK: return %[[Y]]
func.func @moved_units(%x: tensor<4x1x8xf32>) -> tensor<1x4x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<4x1xf32>
  %lows = linalg.fill ins(%low : f32) outs(%rows : tensor<4x1xf32>) -> tensor<4x1xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<4x1x8xf32>) outs(%lows : tensor<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<4x1xf32>
  %flat_max = tensor.collapse_shape %max [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %kept = tensor.expand_shape %flat_max [[0, 1, 2]] output_shape [1, 4, 1] : tensor<4xf32> into tensor<1x4x1xf32>
  %stopped = remat.stop_gradient %kept : tensor<1x4x1xf32>
  %flat = tensor.collapse_shape %x [[0, 1, 2]] : tensor<4x1x8xf32> into tensor<32xf32>
  %moved = tensor.expand_shape %flat [[0, 1, 2]] output_shape [1, 4, 8] : tensor<32xf32> into tensor<1x4x8xf32>
  %e = tensor.empty() : tensor<1x4x8xf32>
  %powers = linalg.generic {indexing_maps = [#full, #kept, #full], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%moved, %stopped : tensor<1x4x8xf32>, tensor<1x4x1xf32>) outs(%e : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<1x4x8xf32>
  %exp = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%powers : tensor<1x4x8xf32>) outs(%e : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<1x4x8xf32>
  %sums = tensor.empty() : tensor<1x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%sums : tensor<1x4xf32>) -> tensor<1x4xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%exp : tensor<1x4x8xf32>) outs(%zeros : tensor<1x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%exp, %sum : tensor<1x4x8xf32>, tensor<1x4xf32>) outs(%e : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

// The maximum of other rows: a dimension has moved that is not of size 1.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @other_rows(
// CHECK-NOT: linalg.softmax
// CHECK: math.exp
func.func @other_rows(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %turned = linalg.transpose ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  %lows = linalg.fill ins(%low : f32) outs(%rows : tensor<4xf32>) -> tensor<4xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%turned : tensor<4x4xf32>) outs(%lows : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<4xf32>
  %powers = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<4x4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<4x4xf32>
  %exp = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%powers : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<4x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<4x4xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<4x4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
