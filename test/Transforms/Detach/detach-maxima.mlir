// RUN: remat-opt %s --inline --remat-detach-maxima --split-input-file | FileCheck %s

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#kept = affine_map<(i, j) -> (i, 0)>
#one = affine_map<(i) -> (i)>

func.func private @max(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.maximumf %a, %o : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %m : tensor<4xf32>
}

// The sum of exp(x - m) along rows, in one kernel.
func.func private @powers(%x: tensor<4x8xf32>, %m: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x8xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// k m + log s.
func.func private @combine(%m: tensor<4xf32>, %s: tensor<4xf32>, %k: f32) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%m, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %l = math.log %b : f32
    %t = arith.mulf %a, %k : f32
    %r = arith.addf %t, %l : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @log_sum_exp(
// CHECK: arith.maximumf
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %{{.*}} : tensor<4xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[STOPPED]]
// CHECK: linalg.generic {{.*}} ins(%[[STOPPED]], %{{.*}}
// CHECK: return
func.func @log_sum_exp(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = call @powers(%x, %m) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = call @combine(%m, %s, %one) : (tensor<4xf32>, tensor<4xf32>, f32) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Names, reshapes, and the border of a region in between.
// CHECK-LABEL: func @through_names_and_regions(
// CHECK: arith.maximumf
// CHECK: remat.stop_gradient
// CHECK: remat.name "sum"
// CHECK: remat.region
func.func @through_names_and_regions(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = call @powers(%x, %m) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %named = remat.name "sum" %s : tensor<4xf32>
  %n = tensor.expand_shape %m [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %y:2 = remat.region (%a = %n : tensor<4x1xf32>, %b = %named : tensor<4xf32>) -> tensor<4x1xf32>, tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %l = linalg.log ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %a, %l : tensor<4x1xf32>, tensor<4xf32>
  }
  %c = tensor.collapse_shape %y#0 [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%c, %y#1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Elements that labels pick from shifted logits are shifted as well.
// CHECK-LABEL: func @picked_by_labels(
// CHECK: arith.maximumf
// CHECK: remat.stop_gradient
func.func @picked_by_labels(%x: tensor<4x8xf32>, %labels: tensor<4xi32>) -> tensor<4xf32> {
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4x8xf32>, tensor<4xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %s = call @powers(%d, %zero) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%s, %labels : tensor<4xf32>, tensor<4xi32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %label: i32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %label : i32 to index
    %p = tensor.extract %d[%i, %j] : tensor<4x8xf32>
    %l = math.log %a : f32
    %t = arith.subf %l, %p : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// An element that another row's label picks is shifted by another row's maximum.
// CHECK-LABEL: func @not_of_another_row(
// CHECK-NOT: remat.stop_gradient
func.func @not_of_another_row(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = call @powers(%x, %m) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %three = arith.constant 3 : index
    %j = arith.subi %three, %i : index
    %p = tensor.extract %m[%j] : tensor<4xf32>
    %l = math.log %a : f32
    %t = arith.addf %l, %p : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @not_where_it_counts_twice(
// CHECK-NOT: remat.stop_gradient
func.func @not_where_it_counts_twice(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %two = arith.constant 2.0 : f32
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = call @powers(%x, %m) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = call @combine(%m, %s, %two) : (tensor<4xf32>, tensor<4xf32>, f32) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @not_where_it_is_a_result(
// CHECK-NOT: remat.stop_gradient
func.func @not_where_it_is_a_result(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant 1.0 : f32
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = call @powers(%x, %m) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = call @combine(%m, %s, %one) : (tensor<4xf32>, tensor<4xf32>, f32) -> tensor<4xf32>
  return %y, %m : tensor<4xf32>, tensor<4xf32>
}

// Of several rows, some would be shifted and some not.
// CHECK-LABEL: func @not_where_rows_are_added_up(
// CHECK-NOT: remat.stop_gradient
func.func @not_where_rows_are_added_up(%x: tensor<4x8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = call @powers(%x, %m) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#one, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%s : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// The sum of powers goes on from something that is not zero.
// CHECK-LABEL: func @not_with_something_beside(
// CHECK-NOT: remat.stop_gradient
func.func @not_with_something_beside(%x: tensor<4x8xf32>, %more: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x8xf32>, tensor<4xf32>) outs(%more : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %y = call @combine(%m, %s, %one) : (tensor<4xf32>, tensor<4xf32>, f32) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// The user wants the gradient of the maximum that is added.
// CHECK-LABEL: func @not_where_one_reader_is_stopped(
// CHECK-COUNT-1: remat.stop_gradient
// CHECK-NOT: remat.stop_gradient
func.func @not_where_one_reader_is_stopped(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %m = call @max(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  %n = remat.stop_gradient %m : tensor<4xf32>
  %s = call @powers(%x, %n) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = call @combine(%m, %s, %one) : (tensor<4xf32>, tensor<4xf32>, f32) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The logarithm of a softmax.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#kept = affine_map<(i, j) -> (i, 0)>
// CHECK-LABEL: func @detaches_the_maximum(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[X]]
// CHECK: arith.maximumf
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %[[MAX]] : tensor<4xf32>
// CHECK: tensor.expand_shape %[[STOPPED]]
// CHECK: arith.subf
// CHECK-NOT: remat.stop_gradient
// CHECK-LABEL: func @not_where_shifted_values_go_elsewhere(
// CHECK-NOT: remat.stop_gradient
func.func private @parts(%x: tensor<4x8xf32>, %low: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%low : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32):
    %n = arith.maximumf %a, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %m1 = tensor.expand_shape %max [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
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
  %l = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x1xf32>) outs(%e1 : tensor<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.log %a : f32
    linalg.yield %r : f32
  } -> tensor<4x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #kept, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d, %l : tensor<4x8xf32>, tensor<4x1xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %y, %d : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func @detaches_the_maximum(%x: tensor<4x8xf32>, %low: tensor<4xf32>) -> tensor<4x8xf32> {
  %y, %d = func.call @parts(%x, %low) : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return %y : tensor<4x8xf32>
}
func.func @not_where_shifted_values_go_elsewhere(%x: tensor<4x8xf32>, %low: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %y, %d = func.call @parts(%x, %low) : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return %y, %d : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A residual of a region has users after it, as a result does.
// CHECK-LABEL: func.func @a_maximum_is_a_residual(
// CHECK: remat.region
// CHECK: linalg.reduce { arith.maximumf }
// CHECK-NOT: remat.stop_gradient
// CHECK: return
func.func @a_maximum_is_a_residual(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %y, %r = remat.region (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> residuals(tensor<4xf32>) {
    %low = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %m = linalg.reduce { arith.maximumf } ins(%a : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    remat.yield %a : tensor<4x8xf32> residuals(%m : tensor<4xf32>)
  }
  %dx = remat.backward residuals(%m = %r : tensor<4xf32>) cotangents(%dy = %y : tensor<4x8xf32>) -> tensor<4xf32> {
    %s = math.sin %m : tensor<4xf32>
    remat.yield %s : tensor<4xf32>
  }
  return %y, %dx : tensor<4x8xf32>, tensor<4xf32>
}
