// RUN: remat-opt %s -remat-fuse=keep-adjoints | FileCheck %s

#id = affine_map<(i) -> (i)>
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @one_reader_element_for_element
// CHECK: arith.negf
// CHECK-NEXT: math.exp
// CHECK-NOT: linalg.generic
func.func @one_reader_element_for_element(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.negf ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// f'(x) (a + b) or f'(x) a + f'(x) b.
// CHECK-LABEL: func.func @two_readers
// CHECK: linalg.negf
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @two_readers(%x: tensor<4xf32>, %init: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.negf ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}

// The sum over j of f'(x) c, or f'(x) times the sum.
// CHECK-LABEL: func.func @a_broadcast
// CHECK: linalg.negf
// CHECK: linalg.generic
func.func @a_broadcast(%x: tensor<4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.negf ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4xf32>) outs(%y : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.mulf %o, %a : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @without_a_gradient_as_ever
// CHECK-NOT: linalg.add
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1
func.func @without_a_gradient_as_ever(%x: tensor<4xi32>, %y: tensor<i32>, %init: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<4xi32>, tensor<i32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<4xi32>
  %1 = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<4xi32>) outs(%init : tensor<i32>) {
  ^bb0(%a: i32, %o: i32):
    %s = arith.addi %o, %a : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %2 = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<4xi32>) outs(%init : tensor<i32>) {
  ^bb0(%a: i32, %o: i32):
    %s = arith.maxsi %o, %a : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  return %1, %2 : tensor<i32>, tensor<i32>
}

// All readers of %x end in one kernel: the last one takes the second last, and so on. Each has an operand of its own,
// in the order in which they contribute to the cotangent: the product, the sum, the power.
// CHECK-LABEL: func.func @the_last_readers_become_one
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: ^bb0(%[[MUL:.*]]: f32, %[[ADD:.*]]: f32, %[[EXP:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[E:.*]] = math.exp %[[EXP]]
// CHECK-NEXT: arith.addf %[[ADD]], %[[E]]
// CHECK: math.tanh
// CHECK-NOT: linalg.generic
func.func @the_last_readers_become_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.add ins(%x, %0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.tanh ins(%1 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.mul ins(%x, %2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// A reader of %x between the two contributes after the one and before the other: even if it stands in a region, and
// reads %x by a name.
// CHECK-LABEL: func.func @a_reader_between
// CHECK: linalg.exp
// CHECK: linalg.negf
// CHECK: linalg.mul
func.func @a_reader_between(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = remat.name "x" %x : tensor<4xf32>
  %1 = remat.region (%a = %n : tensor<4xf32>) -> tensor<4xf32> {
    %i = tensor.empty() : tensor<4xf32>
    %3 = linalg.negf ins(%a : tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %3 : tensor<4xf32>
  }
  %2 = linalg.mul ins(%x, %0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// A later one contributes before both.
// CHECK-LABEL: func.func @a_later_reader
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: arith.mulf
// CHECK: linalg.negf
func.func @a_later_reader(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %i = tensor.empty() : tensor<4xf32>
    %1 = linalg.exp ins(%a : tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    %2 = linalg.mul ins(%a, %1 : tensor<4xf32>, tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %2 : tensor<4xf32>
  }
  %3 = linalg.negf ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0, %3 : tensor<4xf32>, tensor<4xf32>
}

// A value that two regions compute counts as one with both of their kernels as users: its cotangent is one sum.
// CHECK-LABEL: func.func @computed_twice
// CHECK-COUNT-2: linalg.exp
func.func @computed_twice(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = remat.region (%a = %x : tensor<4xf32>, %b = %y : tensor<4xf32>) -> tensor<4xf32> {
    %i = tensor.empty() : tensor<4xf32>
    %1 = linalg.exp ins(%a : tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    %2 = linalg.mul ins(%1, %b : tensor<4xf32>, tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %2 : tensor<4xf32>
  }
  %3 = remat.region (%a = %x : tensor<4xf32>, %b = %y : tensor<4xf32>) -> tensor<4xf32> {
    %i = tensor.empty() : tensor<4xf32>
    %1 = linalg.exp ins(%a : tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    %2 = linalg.sub ins(%1, %b : tensor<4xf32>, tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %2 : tensor<4xf32>
  }
  return %0, %3 : tensor<4xf32>, tensor<4xf32>
}

// The gradient of %b is two sums over the rows, not a sum of two.
// CHECK-LABEL: func.func @a_shared_broadcast_operand
// CHECK: linalg.generic
// CHECK: math.tanh
// CHECK: linalg.generic
func.func @a_shared_broadcast_operand(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %1 = arith.addf %a, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%0, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %4 = arith.mulf %a, %c : f32
    linalg.yield %4 : f32
  } -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// No cotangent: a mask.
// CHECK-LABEL: func.func @a_shared_mask
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @a_shared_mask(%x: tensor<4x8xf32>, %m: tensor<8xi1>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4x8xf32>, tensor<8xi1>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %c: i1, %out: f32):
    %1 = math.tanh %a : f32
    %2 = arith.select %c, %1, %a : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%0, %m : tensor<4x8xf32>, tensor<8xi1>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %c: i1, %out: f32):
    %4 = math.sin %a : f32
    %5 = arith.select %c, %4, %a : f32
    linalg.yield %5 : f32
  } -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// The wider copy would be a second, larger residual; without keep-adjoints it disappears into its own readers later.
// CHECK-LABEL: func.func @a_reader_that_only_widens_stays_apart
// CHECK: %[[VALUE:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<4xf32>)
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[VALUE]] : tensor<4xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK: return %[[VALUE]], %[[WIDE]]
func.func @a_reader_that_only_widens_stays_apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.erf %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xf64>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%f : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    linalg.yield %w : f64
  } -> tensor<4xf64>
  return %0, %1 : tensor<4xf32>, tensor<4xf64>
}

// Computed twice, with a name on one: both add up to one cotangent, in two sums of which one kernel would make one.
// CHECK-LABEL: func.func @one_value_behind_a_name
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: linalg.generic
func.func @one_value_behind_a_name(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %named = remat.name "n" %w : tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%named : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.addf %a, %o : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.addf %a, %o : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %z = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%y, %t : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
