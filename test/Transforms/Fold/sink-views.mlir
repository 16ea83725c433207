// RUN: remat-opt %s --remat-sink-views --split-input-file | FileCheck %s

// Before its first user, in the region; after the region, before the next one.
// CHECK-LABEL: func @stands_where_it_is_read(
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<8x4xf32>)
// CHECK-NOT: linalg.transpose
// CHECK: remat.region policy(#remat.dots_saveable) (%[[A:.*]] = %[[X]] : tensor<8x4xf32>, %[[B:.*]] = %[[W]] : tensor<4x8xf32>)
// CHECK-SAME: prevent_cse = array<i1: false, true>
// CHECK: %[[S:.*]] = math.sin %[[A]]
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[B]] : tensor<4x8xf32>) {{.*}} permutation = [1, 0]
// CHECK-NEXT: arith.addf %[[S]], %[[T]]
// CHECK: remat.yield
// CHECK: %[[C:.*]] = math.cos
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]] : tensor<4x8xf32>) {{.*}} permutation = [1, 0]
// CHECK-NEXT: arith.mulf %[[C]], %[[T]]
func.func @stands_where_it_is_read(%w: tensor<4x8xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%w : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %y = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<8x4xf32>, %b = %t : tensor<8x4xf32>) -> tensor<8x4xf32> attributes {prevent_cse = array<i1: false, true>} {
    %s = math.sin %a : tensor<8x4xf32>
    %r = arith.addf %s, %b : tensor<8x4xf32>
    remat.yield %r : tensor<8x4xf32>
  }
  %c = math.cos %y : tensor<8x4xf32>
  %z = arith.mulf %c, %t : tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// -----

// No view leaves a region: what is viewed does, or was outside before.
// CHECK-LABEL: func @stays_outside(
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<8x4xf32>)
// CHECK: %[[R:.*]]:2 = remat.region (%[[A:.*]] = %[[X]] : tensor<8x4xf32>) -> tensor<8x4xf32>, tensor<8x4xf32> {
// CHECK-NEXT: %[[S:.*]] = math.sin %[[A]]
// CHECK-NEXT: %[[C:.*]] = math.cos %[[S]]
// CHECK-NEXT: remat.yield %[[C]], %[[S]]
// CHECK: %[[E:.*]] = math.exp %[[R]]#0
// CHECK: %[[F:.*]] = tensor.collapse_shape %[[R]]#1 {{\[}}[0, 1]]
// CHECK: %[[B:.*]] = linalg.broadcast ins(%[[F]] : tensor<32xf32>) {{.*}} dimensions = [0]
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]]
// CHECK-NEXT: return %[[E]], %[[B]], %[[T]]
func.func @stays_outside(%w: tensor<4x8xf32>, %x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2x32xf32>, tensor<8x4xf32>) {
  %y, %b, %t = remat.region (%a = %x : tensor<8x4xf32>, %v = %w : tensor<4x8xf32>) -> tensor<8x4xf32>, tensor<2x32xf32>, tensor<8x4xf32> {
    %s = math.sin %a : tensor<8x4xf32>
    %f = tensor.collapse_shape %s [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
    %d = tensor.empty() : tensor<2x32xf32>
    %u = linalg.broadcast ins(%f : tensor<32xf32>) outs(%d : tensor<2x32xf32>) dimensions = [0]
    %e = tensor.empty() : tensor<8x4xf32>
    %r = linalg.transpose ins(%v : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
    %c = math.cos %s : tensor<8x4xf32>
    remat.yield %c, %u, %r : tensor<8x4xf32>, tensor<2x32xf32>, tensor<8x4xf32>
  }
  %z = math.exp %y : tensor<8x4xf32>
  return %z, %b, %t : tensor<8x4xf32>, tensor<2x32xf32>, tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func @views_what_is_named(
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32>)
// CHECK: %[[N:.*]] = remat.name "n" %[[W]] : tensor<4x8xf32>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[N]]
// CHECK: math.sin %[[T]]
func.func @views_what_is_named(%w: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%w : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %n = remat.name "n" %t : tensor<8x4xf32>
  %s = math.sin %n : tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// -----

// Computed once, before the loop, for what is no product.
// CHECK-LABEL: func @must_not_enter_a_loop(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x8xf32>, %[[X:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK: %[[S:.*]] = math.sin %[[X]]
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]]
// CHECK-NEXT: scf.for
// CHECK: remat.region ({{.*}}%[[B:[a-z0-9]+]] = %[[T]] : tensor<8x8xf32>, {{.*}}%[[C:[a-z0-9]+]] = %[[W]] : tensor<8x8xf32>)
// CHECK: %[[U:.*]] = linalg.transpose ins(%[[C]]
// CHECK: linalg.matmul ins({{.*}}, %[[U]]
// CHECK: arith.addf {{.*}}, %[[B]]
// CHECK: arith.mulf {{.*}}, %[[T]]
func.func @must_not_enter_a_loop(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>, %z: tensor<8x8xf32>, %n: index) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %s = math.sin %x : tensor<8x8xf32>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %s) -> tensor<8x8xf32> {
    %r = remat.region (%a = %v : tensor<8x8xf32>, %b = %t : tensor<8x8xf32>, %f = %z : tensor<8x8xf32>) -> tensor<8x8xf32> {
      %m = remat.name "m" %b : tensor<8x8xf32>
      %0 = linalg.matmul ins(%a, %m : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
      %1 = arith.addf %0, %b : tensor<8x8xf32>
      remat.yield %1 : tensor<8x8xf32>
    }
    %m = arith.mulf %r, %t : tensor<8x8xf32>
    scf.yield %m : tensor<8x8xf32>
  }
  return %y : tensor<8x8xf32>
}

// -----

// Without the region, both transpositions would be one, and stand before the loop.
// CHECK-LABEL: func @out_of_a_loop(
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<8x4xf32>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]] :
// CHECK-NEXT: scf.for
// CHECK: remat.region {{.*}} = %[[T]] : tensor<8x4xf32>)
// CHECK-NOT: linalg.transpose
// CHECK: remat.region {{.*}} = %[[W]] : tensor<4x8xf32>)
// CHECK: linalg.transpose
func.func @out_of_a_loop(%w: tensor<4x8xf32>, %x: tensor<8x4xf32>, %n: index) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%w : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<8x4xf32> {
    %r = remat.region (%a = %v : tensor<8x4xf32>, %b = %w : tensor<4x8xf32>) -> tensor<8x4xf32> {
      %f = tensor.empty() : tensor<8x4xf32>
      %u = linalg.transpose ins(%b : tensor<4x8xf32>) outs(%f : tensor<8x4xf32>) permutation = [1, 0]
      %0 = arith.addf %a, %u : tensor<8x4xf32>
      remat.yield %0 : tensor<8x4xf32>
    }
    scf.yield %r : tensor<8x4xf32>
  }
  %z = remat.region (%a = %y : tensor<8x4xf32>, %b = %t : tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = arith.mulf %a, %b : tensor<8x4xf32>
    remat.yield %0 : tensor<8x4xf32>
  }
  return %z : tensor<8x4xf32>
}

// -----

// The product of the branch takes the transposition along; what is left of it is that of the other branch.
// CHECK-LABEL: func @out_of_a_branch(
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK-NEXT: scf.if
// CHECK: arith.addf %{{.*}}, %[[T]]
// CHECK: else
// CHECK: remat.region
// CHECK: linalg.transpose
func.func @out_of_a_branch(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>, %c: i1) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %y = scf.if %c -> tensor<8x8xf32> {
    %m = remat.name "m" %w : tensor<8x8xf32>
    %u = linalg.transpose ins(%m : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
    %0 = arith.addf %x, %u : tensor<8x8xf32>
    scf.yield %0 : tensor<8x8xf32>
  } else {
    %r = remat.region (%a = %x : tensor<8x8xf32>, %b = %t : tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
      remat.yield %0 : tensor<8x8xf32>
    }
    scf.yield %r : tensor<8x8xf32>
  }
  return %y : tensor<8x8xf32>
}

// -----

// The source of the view is defined in the loop.
// CHECK-LABEL: func @must_not_leave_its_source(
// CHECK: scf.for
// CHECK: linalg.transpose
// CHECK: scf.yield
func.func @must_not_leave_its_source(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4x4xf32>
  %t = linalg.transpose ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %t) -> tensor<4x4xf32> {
    %s = math.sin %v : tensor<4x4xf32>
    %u = linalg.transpose ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
    %0 = arith.addf %s, %u : tensor<4x4xf32>
    scf.yield %0 : tensor<4x4xf32>
  }
  return %y : tensor<4x4xf32>
}

// -----

// The product may write its result that way.
// CHECK-LABEL: func @must_not_leave_its_product(
// CHECK: linalg.matmul
// CHECK: linalg.transpose
// CHECK: remat.region
func.func @must_not_leave_its_product(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %z: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %p = linalg.matmul ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%p : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %y = remat.region (%x = %t : tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = math.exp %x : tensor<8x4xf32>
    remat.yield %0 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func @must_not_move_where_nobody_says_the_size(
// CHECK: linalg.transpose
// CHECK: remat.region
func.func @must_not_move_where_nobody_says_the_size(%w: tensor<?x8xf32>, %e: tensor<8x?xf32>) -> tensor<8x?xf32> {
  %t = linalg.transpose ins(%w : tensor<?x8xf32>) outs(%e : tensor<8x?xf32>) permutation = [1, 0]
  %y = remat.region (%x = %t : tensor<8x?xf32>) -> tensor<8x?xf32> {
    %0 = math.exp %x : tensor<8x?xf32>
    remat.yield %0 : tensor<8x?xf32>
  }
  return %y : tensor<8x?xf32>
}

// -----

// A size goes with the view, also where only the region knows it.
// CHECK-LABEL: func @sizes_go_along(
// CHECK: %[[FIRST:.*]]:3 = remat.region
// CHECK: remat.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x2xf32>, tensor<8x9xf32>, index
// CHECK: remat.region ({{.*}}%[[W:.*]] = %[[FIRST]]#1 : tensor<8x9xf32>, %[[N:.*]] = %[[FIRST]]#2 : index)
// CHECK: %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?x8x9xf32>
// CHECK: %[[B:.*]] = linalg.broadcast ins(%[[W]] : tensor<8x9xf32>) outs(%[[E]] :
// CHECK: linalg.batch_matmul ins(%{{.*}}, %[[B]]
func.func @sizes_go_along(%x: tensor<?x5x8xf32>, %w: tensor<8x9xf32>, %y: tensor<?x2xf32>, %z: tensor<?x5x9xf32>) -> (tensor<?x5x9xf32>, tensor<?x2xf32>) {
  %b, %o = remat.region (%v = %w : tensor<8x9xf32>, %u = %y : tensor<?x2xf32>) -> tensor<?x8x9xf32>, tensor<?x2xf32> {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %u, %c0 : tensor<?x2xf32>
    %e = tensor.empty(%n) : tensor<?x8x9xf32>
    %s = math.sin %v : tensor<8x9xf32>
    %c = linalg.broadcast ins(%s : tensor<8x9xf32>) outs(%e : tensor<?x8x9xf32>) dimensions = [0]
    %k = math.cos %u : tensor<?x2xf32>
    remat.yield %c, %k : tensor<?x8x9xf32>, tensor<?x2xf32>
  }
  %r = remat.region (%a = %x : tensor<?x5x8xf32>, %c = %b : tensor<?x8x9xf32>, %i = %z : tensor<?x5x9xf32>) -> tensor<?x5x9xf32> {
    %0 = linalg.batch_matmul ins(%a, %c : tensor<?x5x8xf32>, tensor<?x8x9xf32>) outs(%i : tensor<?x5x9xf32>) -> tensor<?x5x9xf32>
    remat.yield %0 : tensor<?x5x9xf32>
  }
  return %r, %o : tensor<?x5x9xf32>, tensor<?x2xf32>
}

// -----

// CHECK-LABEL: func @splits_into_sizes(
// CHECK: remat.region (%[[A:.*]] = %arg0 : tensor<?xf32>, %[[N:.*]] = %arg1 : index, %[[M:.*]] = %arg2 : index)
// CHECK: tensor.expand_shape %[[A]] {{\[\[}}0, 1]] output_shape [%[[N]], %[[M]]]
func.func @splits_into_sizes(%x: tensor<?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %v = tensor.expand_shape %x [[0, 1]] output_shape [%n, %m] : tensor<?xf32> into tensor<?x?xf32>
  %y = remat.region (%a = %v : tensor<?x?xf32>) -> tensor<?x?xf32> {
    %0 = math.exp %a : tensor<?x?xf32>
    remat.yield %0 : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

// The shape of a reshape goes along as well, also where only a region knows it.
// CHECK-LABEL: func @reshapes_to_a_shape(
// CHECK: %[[FIRST:.*]]:2 = remat.region
// CHECK: remat.yield %{{.*}}, %{{.*}} : tensor<?x6xf32>, tensor<3xi64>
// CHECK: remat.region ({{.*}}%[[A:[a-z0-9]+]] = %[[FIRST]]#0 : tensor<?x6xf32>, %[[S:[a-z0-9]+]] = %[[FIRST]]#1 : tensor<3xi64>)
// CHECK: %[[R:.*]] = tensor.reshape %[[A]](%[[S]])
// CHECK: linalg.batch_matmul ins(%[[R]],
func.func @reshapes_to_a_shape(%x: tensor<?x6xf32>, %n: i64, %y: tensor<?x6x?xf32>, %z: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %first = remat.region (%a = %x : tensor<?x6xf32>, %s = %n : i64) -> tensor<?x?x6xf32> {
    %c6 = arith.constant 6 : i64
    %e = math.exp %a : tensor<?x6xf32>
    %shape = tensor.from_elements %s, %s, %c6 : tensor<3xi64>
    %r = tensor.reshape %e(%shape) : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x?x6xf32>
    remat.yield %r : tensor<?x?x6xf32>
  }
  %product = remat.region (%a = %first : tensor<?x?x6xf32>, %b = %y : tensor<?x6x?xf32>, %c = %z : tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
    %p = linalg.batch_matmul ins(%a, %b : tensor<?x?x6xf32>, tensor<?x6x?xf32>) outs(%c : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    remat.yield %p : tensor<?x?x?xf32>
  }
  return %product : tensor<?x?x?xf32>
}
