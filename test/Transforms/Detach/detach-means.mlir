// RUN: remat-opt %s --remat-detach-means --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-detach-means --remat-detach-means --split-input-file | FileCheck %s

// A batch norm: differences, squares and their sum in one kernel.
#image = affine_map<(n, h, c) -> (n, h, c)>
#channel = affine_map<(n, h, c) -> (c)>
#line = affine_map<(c) -> (c)>
// CHECK-LABEL: func @in_one_kernel(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x8x3xf32>
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[TOTAL]] :
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %[[MEAN]] : tensor<3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[STOPPED]] :
// CHECK-NOT: remat.stop_gradient
// CHECK: return %[[MEAN]],
func.func @in_one_kernel(%x: tensor<4x8x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 32.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %total = linalg.generic {indexing_maps = [#image, #channel], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x : tensor<4x8x3xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %s, %a : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %mean = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%total : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %n : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %squares = linalg.generic {indexing_maps = [#image, #channel, #channel], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x, %mean : tensor<4x8x3xf32>, tensor<3xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %mean, %squares : tensor<3xf32>, tensor<3xf32>
}

// -----

// The mean is made of the sum where it is read. Its loops are in another order.
#full = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(j, i) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#swapped_row = affine_map<(j, i) -> (i)>
// CHECK-LABEL: func @mean_in_the_body(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x8xf32>
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %[[TOTAL]] : tensor<4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[STOPPED]] :
func.func @mean_in_the_body(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %n = arith.constant 0.125 : f32
  %variance_n = arith.constant 7.0 : f32
  %total = linalg.generic {indexing_maps = [#swapped, #swapped_row], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %variance = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %total : tensor<4x8xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %t: f32, %s: f32):
    %m = arith.mulf %n, %t : f32
    %d = arith.subf %m, %a : f32
    %p = arith.mulf %d, %d : f32
    %q = arith.divf %p, %variance_n : f32
    %r = arith.addf %s, %q : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %variance : tensor<4xf32>
}

// -----

// As torch-mlir writes a layer norm: f64, dimensions of size 1 that stay, a
// kernel for each step. Nothing else reads the differences: they stay one.
#full = affine_map<(i, j) -> (i, j)>
#kept = affine_map<(i, j) -> (i, 0)>
// CHECK-LABEL: func @steps_of_their_own(
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %{{.*}} : tensor<4x1xf64>
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[STOPPED]] :
// CHECK: %[[NAMED:.*]] = remat.name "d" %[[D]]
// CHECK: linalg.generic {{.*}} ins(%[[NAMED]], %[[NAMED]] :
// CHECK-NOT: arith.subf
// CHECK: return
func.func @steps_of_their_own(%x: tensor<4x8xf32>) -> tensor<4x1xf64> {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 8.0 : f64
  %e1 = tensor.empty() : tensor<4x1xf64>
  %e = tensor.empty() : tensor<4x8xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e1 : tensor<4x1xf64>) -> tensor<4x1xf64>
  %wide = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf64>) {
  ^bb0(%a: f32, %o: f64):
    %r = arith.extf %a : f32 to f64
    linalg.yield %r : f64
  } -> tensor<4x8xf64>
  %total = linalg.generic {indexing_maps = [#full, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<4x8xf64>) outs(%z : tensor<4x1xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %a, %s : f64
    linalg.yield %r : f64
  } -> tensor<4x1xf64>
  %mean = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%total : tensor<4x1xf64>) outs(%e1 : tensor<4x1xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.divf %a, %n : f64
    linalg.yield %r : f64
  } -> tensor<4x1xf64>
  %d = linalg.generic {indexing_maps = [#full, #kept, #full], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %mean : tensor<4x8xf64>, tensor<4x1xf64>) outs(%e : tensor<4x8xf64>) {
  ^bb0(%a: f64, %m: f64, %o: f64):
    %r = arith.subf %a, %m : f64
    linalg.yield %r : f64
  } -> tensor<4x8xf64>
  %named = remat.name "d" %d : tensor<4x8xf64>
  %p = linalg.generic {indexing_maps = [#full, #full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%named, %named : tensor<4x8xf64>, tensor<4x8xf64>) outs(%e : tensor<4x8xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %r = arith.mulf %a, %b : f64
    linalg.yield %r : f64
  } -> tensor<4x8xf64>
  %squares = linalg.generic {indexing_maps = [#full, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x8xf64>) outs(%z : tensor<4x1xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %a, %s : f64
    linalg.yield %r : f64
  } -> tensor<4x1xf64>
  return %squares : tensor<4x1xf64>
}

// -----

// Other users of the differences need the gradient of the mean: only the sum
// gets differences of its own, without the name.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#line = affine_map<(i) -> (i)>
// CHECK-LABEL: func @differences_that_others_read(
// CHECK: %[[MEAN:.*]] = linalg.generic
// CHECK: arith.divf
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[X:.*]], %[[MEAN]] :
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %[[MEAN]] : tensor<4xf32>
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[STOPPED]] :
// CHECK: %[[NAMED:.*]] = remat.name "d" %[[D]]
// CHECK-NOT: linalg.powf ins(%[[NAMED]]
// CHECK: linalg.powf ins(%[[COPY]],
// CHECK: linalg.exp ins(%[[NAMED]]
func.func @differences_that_others_read(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %two = arith.constant dense<2.0> : tensor<4x8xf32>
  %n = arith.constant 8.0 : f32
  %e1 = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %total = linalg.reduce ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %mean = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%total : tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %n : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %named = remat.name "d" %d : tensor<4x8xf32>
  %p = linalg.powf ins(%named, %two : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %squares = linalg.reduce ins(%p : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %y = linalg.exp ins(%named : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %squares, %y : tensor<4xf32>, tensor<4x8xf32>
}

// -----

// As JAX writes it: named operations, the mean broadcast by one of its own.
// CHECK-LABEL: func @broadcast_mean(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x8xf32>
// CHECK: %[[B:.*]] = linalg.broadcast
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %[[B]] : tensor<4x8xf32>
// CHECK: linalg.sub ins(%[[X]], %[[STOPPED]] :
func.func @broadcast_mean(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %n = arith.constant dense<8.0> : tensor<4x1xf32>
  %e1 = tensor.empty() : tensor<4x1xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %total = linalg.reduce ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %kept = tensor.expand_shape %total [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %mean = linalg.div ins(%kept, %n : tensor<4x1xf32>, tensor<4x1xf32>) outs(%e1 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %line = tensor.collapse_shape %mean [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %b = linalg.broadcast ins(%line : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %d = linalg.sub ins(%x, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.mul ins(%d, %d : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %squares = linalg.reduce ins(%p : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  return %squares : tensor<4xf32>
}

// -----

// The mean comes from another region, by a name, for groups of channels.
#full = affine_map<(i, g, j) -> (i, g, j)>
#group = affine_map<(i, g, j) -> (i, g)>
// CHECK-LABEL: func @from_another_region(
// CHECK: remat.name "total"
// CHECK: remat.region
// CHECK: %[[STOPPED:.*]] = remat.stop_gradient %{{.*}} : tensor<4x2xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[STOPPED]] :
func.func @from_another_region(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %t = remat.region (%b = %g : tensor<4x2x3xf32>) -> tensor<4x2xf32> {
    %z = arith.constant dense<0.0> : tensor<4x2xf32>
    %total = linalg.generic {indexing_maps = [#full, #group], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%b : tensor<4x2x3xf32>) outs(%z : tensor<4x2xf32>) {
    ^bb0(%a: f32, %s: f32):
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    } -> tensor<4x2xf32>
    %named = remat.name "total" %total : tensor<4x2xf32>
    remat.yield %named : tensor<4x2xf32>
  }
  %v = remat.region (%b = %g : tensor<4x2x3xf32>, %c = %t : tensor<4x2xf32>) -> tensor<4x2xf32> {
    %n = arith.constant 3.0 : f32
    %z = arith.constant dense<0.0> : tensor<4x2xf32>
    %squares = linalg.generic {indexing_maps = [#full, #group, #group], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%b, %c : tensor<4x2x3xf32>, tensor<4x2xf32>) outs(%z : tensor<4x2xf32>) {
    ^bb0(%a: f32, %u: f32, %s: f32):
      %m = arith.divf %u, %n : f32
      %d = arith.subf %a, %m : f32
      %p = arith.mulf %d, %d : f32
      %r = arith.addf %s, %p : f32
      linalg.yield %r : f32
    } -> tensor<4x2xf32>
    remat.yield %squares : tensor<4x2xf32>
  }
  return %v : tensor<4x2xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func @gradients_that_are_not_zero(
// CHECK-NOT: remat.stop_gradient
func.func @gradients_that_are_not_zero(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %start: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>) {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 8.0 : f32
  %fewer = arith.constant 7.0 : f32
  %of_rows = linalg.reduce ins(%x : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %of_columns = linalg.reduce ins(%x : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %of_y = linalg.reduce ins(%y : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %more = linalg.reduce ins(%x : tensor<8x8xf32>) outs(%start : tensor<8xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  // Divided by another number than that of the elements.
  %v0 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %of_rows : tensor<8x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32):
    %m = arith.divf %u, %fewer : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  // The mean of other elements.
  %v1 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %of_columns : tensor<8x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  // The mean of another tensor.
  %v2 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %of_y : tensor<8x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  // A sum that does not start from zero.
  %v3 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %more : tensor<8x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  // A weighted sum.
  %v4 = linalg.generic {indexing_maps = [#full, #row, #full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %of_rows, %y : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %w: f32, %s: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %q = arith.mulf %p, %w : f32
    %r = arith.addf %s, %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  // Another result is a function of the differences, too.
  %e = tensor.empty() : tensor<8x8xf32>
  %v5:2 = linalg.generic {indexing_maps = [#full, #row, #row, #full], iterator_types = ["parallel", "reduction"]}
      ins(%x, %of_rows : tensor<8x8xf32>, tensor<8xf32>) outs(%z, %e : tensor<8xf32>, tensor<8x8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32, %o: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r, %d : f32, f32
  } -> (tensor<8xf32>, tensor<8x8xf32>)
  // The sum of the differences, not of their squares.
  %v6 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %of_rows : tensor<8x8xf32>, tensor<8xf32>) outs(%v5#0 : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %r = arith.addf %s, %d : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %v0, %v1, %v2, %v3, %v6, %v5#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// How many elements there are is not known.
// CHECK-LABEL: func @unknown_sizes(
// CHECK-NOT: remat.stop_gradient
func.func @unknown_sizes(%x: tensor<8x?xf32>) -> tensor<8xf32> {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 8.0 : f32
  %total = linalg.reduce ins(%x : tensor<8x?xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %v = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %total : tensor<8x?xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32, %s: f32):
    %m = arith.divf %u, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %v : tensor<8xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// The differences leave a region before they are squared.
// CHECK-LABEL: func @across_a_border(
// CHECK-SAME: %[[X:.*]]: tensor<8x8xf32>
// CHECK: %[[T:.*]] = linalg.reduce
// CHECK: %[[R:.*]]:2 = remat.region (%[[A:.*]] = %[[X]] : tensor<8x8xf32>, %[[B:.*]] = %[[T]] : tensor<8xf32>)
// CHECK-NEXT: remat.yield %[[A]], %[[B]]
// CHECK: %[[M:.*]] = remat.stop_gradient %[[R]]#1
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[R]]#0, %[[M]] :
// CHECK: linalg.generic {{.*}} ins(%[[D]] :
func.func @across_a_border(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %total = linalg.reduce ins(%x : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %r = arith.addf %a, %s : f32
      linalg.yield %r : f32
    }
  %d = remat.region (%b = %x : tensor<8x8xf32>, %t = %total : tensor<8xf32>) -> tensor<8x8xf32> {
    %n = arith.constant 8.0 : f32
    %e = tensor.empty() : tensor<8x8xf32>
    %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
        ins(%b, %t : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%a: f32, %u: f32, %o: f32):
      %m = arith.divf %u, %n : f32
      %r = arith.subf %a, %m : f32
      linalg.yield %r : f32
    } -> tensor<8x8xf32>
    remat.yield %y : tensor<8x8xf32>
  }
  %v = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<8x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %a : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %v : tensor<8xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// They are squared in another region, and something else reads them: so does it still.
// CHECK-LABEL: func @into_another_region(
// CHECK: %[[R:.*]]:3 = remat.region (%[[X:.*]] = %arg0 :
// CHECK: %[[T:.*]] = linalg.reduce
// CHECK-NOT: remat.stop_gradient
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: remat.yield %[[Y]], %[[X]], %[[T]]
// CHECK: remat.region (%[[A:.*]] = %[[R]]#1 : tensor<8x8xf32>, %[[B:.*]] = %[[R]]#2 : tensor<8xf32>)
// CHECK-NEXT: %[[M:.*]] = remat.stop_gradient %[[B]]
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[M]] :
// CHECK: linalg.generic {{.*}} ins(%[[D]] :
// CHECK: remat.yield
// CHECK: return %{{.*}}, %[[R]]#0
func.func @into_another_region(%x: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %d = remat.region (%b = %x : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %z = arith.constant dense<0.0> : tensor<8xf32>
    %total = linalg.reduce ins(%b : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
      (%a: f32, %s: f32) {
        %r = arith.addf %a, %s : f32
        linalg.yield %r : f32
      }
    %n = arith.constant 8.0 : f32
    %e = tensor.empty() : tensor<8x8xf32>
    %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
        ins(%b, %total : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%a: f32, %u: f32, %o: f32):
      %m = arith.divf %u, %n : f32
      %r = arith.subf %a, %m : f32
      linalg.yield %r : f32
    } -> tensor<8x8xf32>
    remat.yield %y : tensor<8x8xf32>
  }
  %v = remat.region (%c = %d : tensor<8x8xf32>) -> tensor<8xf32> {
    %z = arith.constant dense<0.0> : tensor<8xf32>
    %w = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
        ins(%c : tensor<8x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %s: f32):
      %p = arith.mulf %a, %a : f32
      %r = arith.addf %s, %p : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    remat.yield %w : tensor<8xf32>
  }
  return %v, %d : tensor<8xf32>, tensor<8x8xf32>
}

// -----

// The mean is of a view outside, and the differences are from an equal one inside.
// CHECK-LABEL: func @views_on_both_sides_of_a_border(
// CHECK: remat.region
// CHECK: remat.stop_gradient
// CHECK: remat.yield
func.func @views_on_both_sides_of_a_border(%x: tensor<4x4x2xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.125 : f32
  %c = tensor.collapse_shape %x [[0], [1, 2]] : tensor<4x4x2xf32> into tensor<4x8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %acc, %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.mulf %a, %eighth : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %y = remat.region (%u = %x : tensor<4x4x2xf32>, %m = %mean : tensor<4xf32>, %s = %z : tensor<4xf32>) -> tensor<4xf32> {
    %d = tensor.collapse_shape %u [[0], [1, 2]] : tensor<4x4x2xf32> into tensor<4x8xf32>
    %v = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%d, %m : tensor<4x8xf32>, tensor<4xf32>) outs(%s : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %0 = arith.subf %a, %b : f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %acc, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<4xf32>
    remat.yield %v : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
