// RUN: remat-opt %s -remat-bufferize -split-input-file -verify-diagnostics | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @parameter_is_updated_in_place
// CHECK-SAME: (%[[W:.*]]: memref<16xf32> {opt.param}, %[[G:.*]]: memref<16xf32>) {
// CHECK-NEXT: linalg.sub ins(%[[W]], %[[G]] {{.*}} outs(%[[W]]
// CHECK-NEXT: return
func.func @parameter_is_updated_in_place(%w: tensor<16xf32> {opt.param, bufferization.writable = true}, %g: tensor<16xf32>)
    -> (tensor<16xf32> {remat.updates = 0 : i64}) {
  %0 = linalg.sub ins(%w, %g : tensor<16xf32>, tensor<16xf32>) outs(%w : tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func @data_is_not_written
// CHECK-SAME: (%[[X:.*]]: memref<16xf32>, %[[Y:.*]]: memref<16xf32> {remat.result = 0 : i64}) {
// CHECK: linalg.exp ins(%[[X]] {{.*}} outs(%[[Y]]
func.func @data_is_not_written(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = linalg.exp ins(%x : tensor<16xf32>) outs(%x : tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func @update_that_is_computed_elsewhere_is_copied
// CHECK-SAME: (%[[W:.*]]: memref<16xf32>, %[[G:.*]]: memref<16xf32>) {
// CHECK: memref.copy %[[G]], %[[W]]
// expected-remark @+2 {{result of @update_that_is_computed_elsewhere_is_copied is not computed in place and is copied: 'memref<16xf32>'}}
func.func @update_that_is_computed_elsewhere_is_copied(
    %w: tensor<16xf32> {bufferization.writable = true}, %g: tensor<16xf32>)
    -> (tensor<16xf32> {remat.updates = 0 : i64}) {
  return %g : tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func private @residual_is_placed_by_the_caller
// CHECK-SAME: (%{{.*}}: memref<16xf32>, %[[Y:.*]]: memref<4x4xf32> {remat.result = 0 : i64}) {
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [16], strides: [1]
// CHECK: linalg.exp {{.*}} outs(%[[FLAT]]
func.func private @residual_is_placed_by_the_caller(%x: tensor<16xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.exp ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 4] : tensor<16xf32> into tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @caller
// CHECK: %[[H:.*]] = memref.view %{{.*}} : memref<64xi8> to memref<4x4xf32>
// CHECK: call @residual_is_placed_by_the_caller(%{{.*}}, %[[H]]) {remat.phase = "recompute"}
func.func @caller(%x: tensor<16xf32>) -> tensor<4x4xf32> {
  %0 = call @residual_is_placed_by_the_caller(%x) {remat.phase = "recompute"} : (tensor<16xf32>) -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.transpose ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  return %1 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @barrier_costs_nothing
// CHECK-SAME: (%[[X:.*]]: memref<16xf32>, %[[DY:.*]]: memref<16xf32>, %[[OUT:.*]]: memref<16xf32> {remat.result = 0 : i64}) {
// CHECK-NEXT: linalg.mul ins(%[[X]], %[[DY]] {{.*}} outs(%[[OUT]]
func.func @barrier_costs_nothing(%x: tensor<16xf32>, %dy: tensor<16xf32>) -> tensor<16xf32> {
  %x1 = remat.barrier %x after %dy : tensor<16xf32> after tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.mul ins(%x1, %dy : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// The update waits for the read through the barrier: no copy of %w.
// CHECK-LABEL: func.func @read_through_a_barrier_precedes_the_update
// CHECK-NOT: memref.copy
// CHECK: linalg.mul
// CHECK: linalg.sub
func.func @read_through_a_barrier_precedes_the_update(%w: tensor<16xf32> {bufferization.writable = true}, %dy: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16xf32> {remat.updates = 0 : i64}) {
  %w1 = remat.barrier %w after %dy : tensor<16xf32> after tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.mul ins(%w1, %dy : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %1 = linalg.sub ins(%w, %dy : tensor<16xf32>, tensor<16xf32>) outs(%w : tensor<16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func @loop_computes_its_carried_tensor_in_place
// CHECK: scf.for {{.*}} {
// CHECK-NOT: memref.copy
// CHECK: linalg.exp ins(%[[H:.*]] : memref<16xf32>) outs(%[[H]] : memref<16xf32>)
func.func @loop_computes_its_carried_tensor_in_place(%x: tensor<16xf32>, %n: index) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> tensor<16xf32> {
    %e = tensor.empty() : tensor<16xf32>
    %y = linalg.exp ins(%h : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    scf.yield %y : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func @loop_keeps_the_old_value_while_it_is_read
// CHECK: scf.for
// CHECK: linalg.matmul
// CHECK: memref.copy
func.func @loop_keeps_the_old_value_while_it_is_read(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = linalg.matmul ins(%h, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %y : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

// %f is read after the inner branch, which leaves another tensor in the first
// result's buffer.

// CHECK-LABEL: func.func private @inner_branch_hands_on_what_others_read
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<8xf32> {remat.result = 0 : i64}, %[[B:[a-z0-9]+]]: memref<8xf32> {remat.result = 1 : i64})
// CHECK: scf.if
// CHECK-NEXT: linalg.log ins(%{{.*}}) outs(%[[B]] : memref<8xf32>)
// CHECK-NEXT: scf.if
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[B]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK: linalg.exp ins(%{{.*}}) outs(%[[A]] : memref<8xf32>)
// CHECK-NOT: memref.copy
func.func private @inner_branch_hands_on_what_others_read(%flag: i1, %more: i1, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r:2 = scf.if %flag -> (tensor<8xf32>, tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.log ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %inner = scf.if %more -> tensor<8xf32> {
      scf.yield %f : tensor<8xf32>
    } else {
      %h = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %h : tensor<8xf32>
    }
    scf.yield %inner, %f : tensor<8xf32>, tensor<8xf32>
  } else {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %g = linalg.exp ins(%f : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %f, %g : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func private @inner_branch_computes_what_nobody_else_reads
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<8xf32> {remat.result = 0 : i64})
// CHECK: scf.if
// CHECK-NEXT: linalg.log ins(%{{.*}}) outs(%[[A]] : memref<8xf32>)
// CHECK-NOT: memref.copy
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @inner_branch_computes_what_nobody_else_reads(%flag: i1, %more: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  %r = scf.if %flag -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.log ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %inner = scf.if %more -> tensor<8xf32> {
      scf.yield %f : tensor<8xf32>
    } else {
      %h = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %h : tensor<8xf32>
    }
    scf.yield %inner : tensor<8xf32>
  } else {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %f : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// The tape keeps the state from before the inner loop.

// CHECK-LABEL: func.func private @inner_loop_starts_from_what_is_read_behind_it
// CHECK: scf.for
// CHECK: memref.copy
// CHECK: scf.for
// CHECK: linalg.exp
func.func private @inner_loop_starts_from_what_is_read_behind_it(%x: tensor<8xf32>, %tape: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %x, %t = %tape) -> (tensor<8xf32>, tensor<4x8xf32>) {
    %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%g = %h) -> tensor<8xf32> {
      %e = tensor.empty() : tensor<8xf32>
      %y = linalg.exp ins(%g : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %y : tensor<8xf32>
    }
    %u = tensor.insert_slice %h into %t[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
    scf.yield %inner, %u : tensor<8xf32>, tensor<4x8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<4x8xf32>
}

// -----

// The first product reads the cotangent that it adds to, and the second one adds
// to the sum.

// CHECK-LABEL: func.func private @product_reads_the_carried_tensor_that_it_adds_to
// CHECK: scf.for
// CHECK-NEXT: %[[SUM:.*]] = memref.view
// CHECK-NEXT: memref.copy %[[CARRIED:.*]], %[[SUM]]
// CHECK-NEXT: linalg.matmul ins(%{{.*}}, %[[CARRIED]] {{.*}} outs(%[[SUM]]
// CHECK-NEXT: linalg.matmul {{.*}} outs(%[[SUM]]
// CHECK-NEXT: memref.copy %[[SUM]], %[[CARRIED]]
func.func private @product_reads_the_carried_tensor_that_it_adds_to(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%g = %x) -> tensor<4x4xf32> {
    %s = linalg.matmul ins(%w, %g : tensor<4x4xf32>, tensor<4x4xf32>) outs(%g : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.matmul ins(%w, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%s : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %t : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func private @branch_reads_the_carried_tensor_that_it_adds_to
// CHECK: scf.for
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[SUM:.*]] = memref.view
// CHECK-NEXT: memref.copy %[[CARRIED:.*]], %[[SUM]]
// CHECK-NEXT: linalg.matmul ins(%{{.*}}, %[[CARRIED]] {{.*}} outs(%[[SUM]]
// CHECK-NEXT: memref.copy %[[SUM]], %[[CARRIED]]
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func private @branch_reads_the_carried_tensor_that_it_adds_to(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %n: index, %p : i1) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%g = %x) -> tensor<4x4xf32> {
    %t = scf.if %p -> tensor<4x4xf32> {
      %s = linalg.matmul ins(%w, %g : tensor<4x4xf32>, tensor<4x4xf32>) outs(%g : tensor<4x4xf32>) -> tensor<4x4xf32>
      scf.yield %s : tensor<4x4xf32>
    } else {
      scf.yield %g : tensor<4x4xf32>
    }
    scf.yield %t : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func private @branch_reads_the_carried_tensor_after_an_update
// CHECK: scf.if
// CHECK-NEXT: %[[NEXT:.*]] = memref.view
// CHECK-NEXT: linalg.exp ins(%[[CARRIED:.*]] : {{.*}} outs(%[[NEXT]]
// CHECK-NEXT: linalg.add ins(%[[NEXT]], %[[CARRIED]] {{.*}} outs(%[[NEXT]]
// CHECK-NEXT: memref.copy %[[NEXT]], %[[CARRIED]]
func.func private @branch_reads_the_carried_tensor_after_an_update(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %n: index, %p : i1) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%g = %x) -> tensor<4x4xf32> {
    %t = scf.if %p -> tensor<4x4xf32> {
      %s = linalg.exp ins(%g : tensor<4x4xf32>) outs(%g : tensor<4x4xf32>) -> tensor<4x4xf32>
      %t = linalg.add ins(%s, %g : tensor<4x4xf32>, tensor<4x4xf32>) outs(%s : tensor<4x4xf32>) -> tensor<4x4xf32>
      scf.yield %t : tensor<4x4xf32>
    } else {
      scf.yield %g : tensor<4x4xf32>
    }
    scf.yield %t : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func private @carried_tensor_is_read_behind_the_update_of_a_barrier
// CHECK: scf.for
// CHECK: linalg.exp {{.*}} outs(%[[NEXT:.*]] :
// CHECK: linalg.add ins(%[[CARRIED:.*]], %[[H:.*]] : {{.*}} outs(%[[H]]
// CHECK: memref.copy %[[NEXT]], %[[CARRIED]]
func.func private @carried_tensor_is_read_behind_the_update_of_a_barrier(%x: tensor<16xf32>, %z: tensor<16xf32>, %n: index) -> (tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%g = %x, %h = %z) -> (tensor<16xf32>, tensor<16xf32>) {
    %b = remat.barrier %g after %h : tensor<16xf32> after tensor<16xf32>
    %s = linalg.exp ins(%b : tensor<16xf32>) outs(%b : tensor<16xf32>) -> tensor<16xf32>
    %t = linalg.add ins(%g, %h : tensor<16xf32>, tensor<16xf32>) outs(%h : tensor<16xf32>) -> tensor<16xf32>
    scf.yield %s, %t : tensor<16xf32>, tensor<16xf32>
  }
  return %r#0, %r#1 : tensor<16xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func private @loop_carries_a_value_twice
// CHECK: scf.for
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[FIRST:.*]] : memref<4xf32>)
// CHECK-NEXT: memref.copy %[[FIRST]], %{{.*}}
// CHECK-NEXT: }
func.func private @loop_carries_a_value_twice(%x: tensor<4xf32>, %z: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%g = %x, %h = %z) -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%one : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %f, %f : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// %f is placed before its update is, which could otherwise be where %f is.

// CHECK-LABEL: func.func private @loop_carries_a_value_and_its_update
// CHECK: scf.for
// CHECK-NEXT: linalg.exp {{.*}} outs(%[[F:.*]] : memref<4xf32>)
// CHECK-NEXT: %[[W:.*]] = memref.view
// CHECK-NEXT: memref.copy %[[F]], %[[W]]
// CHECK-NEXT: memref.store %{{.*}}, %[[W]]
// CHECK-NEXT: memref.copy %[[W]], %{{.*}}
// CHECK-NEXT: }
func.func private @loop_carries_a_value_and_its_update(%x: tensor<4xf32>, %z: tensor<4xf32>, %n: index, %v: f32, %k: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%g = %x, %h = %z) -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.exp ins(%k : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %w = tensor.insert %v into %f[%c1] : tensor<4xf32>
    scf.yield %w, %f : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func private @branch_returns_a_value_and_its_update
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {remat.result = 0 : i64}, %[[B:[a-z0-9]+]]: memref<4xf32> {remat.result = 1 : i64}
// CHECK: scf.if
// CHECK-NEXT: linalg.exp {{.*}} outs(%[[B]] : memref<4xf32>)
// CHECK: %[[W:.*]] = memref.view
// CHECK-NEXT: memref.copy %[[B]], %[[W]]
// CHECK-NEXT: memref.store %{{.*}}, %[[W]]
// CHECK-NEXT: memref.copy %[[W]], %[[A]]
func.func private @branch_returns_a_value_and_its_update(%x: tensor<4xf32>, %p: i1, %v: f32, %i: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = scf.if %p -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %w = tensor.insert %v into %f[%i] : tensor<4xf32>
    scf.yield %w, %f : tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two results with one value are two buffers: a caller knows results by their position.

// CHECK-LABEL: func.func @equal_results
// CHECK-SAME: (%[[X:.*]]: memref<16xf32>, %[[A:.*]]: memref<16xf32> {remat.gradient_of = 0 : i64, remat.result = 0 : i64}, %[[B:.*]]: memref<16xf32> {remat.result = 1 : i64}) {
// CHECK: linalg.exp ins(%[[X]] {{.*}} outs(%[[A]]
// CHECK: memref.copy %[[A]], %[[B]]
// expected-remark @+1 {{result of @equal_results is not a buffer of its own and is copied: 'memref<16xf32>'}}
func.func @equal_results(%x: tensor<16xf32>) -> (tensor<16xf32> {remat.gradient_of = 0}, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.exp ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %0, %0 : tensor<16xf32>, tensor<16xf32>
}

// -----

// The caller of a public function cannot know that a result is its argument.

// CHECK-LABEL: func.func @result_is_an_argument
// CHECK-SAME: (%[[X:.*]]: memref<16xf32>, %[[A:.*]]: memref<16xf32> {remat.result = 0 : i64}) {
// CHECK: memref.copy %[[X]], %[[A]]
// expected-remark @+1 {{result of @result_is_an_argument is not a buffer of its own and is copied: 'memref<16xf32>'}}
func.func @result_is_an_argument(%x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}

// -----

// An inner branch updates %v, which is read after it as well: %v cannot be computed in the buffer of the branch's result, which the
// other region overwrites.
// CHECK-LABEL: func.func @updated_in_an_inner_branch(
// CHECK: scf.if
// CHECK: linalg.exp ins(%{{.*}}) outs(%[[V:[a-z0-9]*]] :
// CHECK: scf.if
// CHECK-NEXT: linalg.negf ins(%[[V]] {{.*}} outs(%[[R:[a-z0-9]*]] :
// CHECK-NEXT: else
// CHECK: memref.copy %[[V]], %[[COPY:[a-z0-9]*]]
// CHECK: memref.subview %[[COPY]]
// CHECK-NOT: outs(%[[V]]
func.func @updated_in_an_inner_branch(%outer: i1, %inner: i1, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = scf.if %outer -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %v = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %i = scf.if %inner -> (tensor<4xf32>) {
      %f = tensor.empty() : tensor<4xf32>
      %a = linalg.negf ins(%v : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %a : tensor<4xf32>
    } else {
      %part = tensor.extract_slice %x[0] [2] [2] : tensor<4xf32> to tensor<2xf32>
      %new = tensor.insert_slice %part into %v[0] [2] [2] : tensor<2xf32> into tensor<4xf32>
      scf.yield %new : tensor<4xf32>
    }
    scf.yield %i, %v : tensor<4xf32>, tensor<4xf32>
  } else {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.sqrt ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A sum is returned before and after an addition to it: only one of both can be in its buffer.
// CHECK-LABEL: func.func @before_and_behind_the_last_addition(
// CHECK-SAME: memref<4xf32>, %[[Y:.*]]: memref<4xf32>, %[[A:.*]]: memref<4xf32> {remat.result = 0 : i64}, %[[B:.*]]: memref<4xf32> {remat.result = 1 : i64}
// CHECK: linalg.exp {{.*}} outs(%[[A]] :
// CHECK: scf.if
// CHECK: linalg.add ins(%[[A]], %[[Y]] : {{.*}} outs(%[[SUM:[a-z0-9]*]] :
// CHECK-NEXT: linalg.mul ins(%[[SUM]], %[[A]] : {{.*}} outs(%[[A]] :
// CHECK-NEXT: memref.copy %[[SUM]], %[[B]]
// CHECK: else
// CHECK: linalg.add ins(%[[A]], %[[A]] : {{.*}} outs(%[[SUM:[a-z0-9]*]] :
// CHECK-NEXT: memref.copy %[[A]], %[[B]]
// CHECK-NEXT: memref.copy %[[SUM]], %[[A]]
func.func @before_and_behind_the_last_addition(%p: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %v = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = scf.if %p -> (tensor<4xf32>, tensor<4xf32>) {
    %a = linalg.add ins(%v, %y : tensor<4xf32>, tensor<4xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
    %b = linalg.mul ins(%a, %v : tensor<4xf32>, tensor<4xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  } else {
    %a = linalg.add ins(%v, %v : tensor<4xf32>, tensor<4xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a, %v : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop starts with the same tensor in two of its values: neither is in its buffer, which the other region overwrites.
// CHECK-LABEL: func.func @twice_in_a_loop(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<4xf32>, %[[Y:[a-z0-9]*]]: memref<4xf32>, %[[A:[a-z0-9]*]]: memref<4xf32> {remat.result = 0 : i64}
// CHECK: linalg.exp {{.*}} outs(%[[V:[a-z0-9]*]] :
// CHECK: scf.if
// CHECK: memref.copy %[[V]], %[[S:[a-z0-9_]*]]
// CHECK: memref.copy %[[V]], %[[T:[a-z0-9_]*]]
// CHECK: scf.for
// CHECK-NEXT: linalg.add ins(%[[S]], %[[Y]] {{.*}} outs(%[[S]] :
// CHECK-NEXT: linalg.mul ins(%[[T]], %[[Y]] {{.*}} outs(%[[T]] :
// CHECK: memref.copy %[[S]], %[[A]]
func.func @twice_in_a_loop(%p: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4xf32>
  %v = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = scf.if %p -> (tensor<4xf32>, tensor<4xf32>) {
    %l:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %v, %t = %v) -> (tensor<4xf32>, tensor<4xf32>) {
      %s1 = linalg.add ins(%s, %y : tensor<4xf32>, tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
      %t1 = linalg.mul ins(%t, %y : tensor<4xf32>, tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %s1, %t1 : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %l#0, %l#1 : tensor<4xf32>, tensor<4xf32>
  } else {
    %a = linalg.add ins(%v, %v : tensor<4xf32>, tensor<4xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a, %y : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The exponentials have no uses after the quotient: they are in the result's buffer, in another shape.
// CHECK-LABEL: func.func @result_is_computed_in_place_of_an_operand(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<8x16xf32>, %[[Y:[a-z0-9]*]]: memref<128xf32> {remat.result = 0 : i64}, %{{.*}}: memref<64xi8> {remat.arena})
// CHECK: %[[PLACE:.*]] = memref.reinterpret_cast %[[Y]] to {{.*}} sizes: [8, 16]
// CHECK: linalg.exp ins(%[[X]] {{.*}} outs(%[[PLACE]]
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} ins(%[[PLACE]]
// CHECK: linalg.generic {{.*}} ins(%[[PLACE]], {{.*}} outs(%[[PLACE]]
func.func @result_is_computed_in_place_of_an_operand(%x: tensor<8x16xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %r = tensor.empty() : tensor<8xf32>
  %p = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = arith.addf %acc, %a : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %q = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %d = arith.divf %a, %t : f32
    linalg.yield %d : f32
  } -> tensor<8x16xf32>
  %flat = tensor.collapse_shape %q [[0, 1]] : tensor<8x16xf32> into tensor<128xf32>
  return %flat : tensor<128xf32>
}

// -----

// The first result is not in the place of what the second one reads.
// CHECK-LABEL: func.func @only_the_last_reader_is_in_place(
// CHECK-SAME: %[[Q:[a-z0-9]*]]: memref<4xf32> {remat.result = 0 : i64}, %[[R:[a-z0-9]*]]: memref<4xf32> {remat.result = 1 : i64})
// CHECK-NEXT: linalg.exp {{.*}} outs(%[[R]] :
// CHECK-NEXT: linalg.add ins(%[[R]], {{.*}} outs(%[[Q]] :
// CHECK-NEXT: linalg.mul ins(%[[R]], %[[Q]] {{.*}} outs(%[[R]] :
func.func @only_the_last_reader_is_in_place(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %p = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %q = linalg.add ins(%p, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.mul ins(%p, %q : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %q, %r : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @result_is_not_in_place_of_what_is_transposed(
// CHECK: linalg.exp {{.*}} outs(%[[P:.*]] : memref<4x4xf32>)
// CHECK-NOT: memref.copy
// CHECK: linalg.transpose ins(%[[P]] {{.*}} outs(%arg1
func.func @result_is_not_in_place_of_what_is_transposed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %p = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = linalg.transpose ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  return %q : tensor<4x4xf32>
}

// -----

// An undefined tensor is replaced by the other one: its buffer would depend on a condition.
// CHECK-LABEL: func @one_of_two_is_undefined(
// CHECK-NOT: arith.select
// CHECK: return
func.func @one_of_two_is_undefined(%x: tensor<8xf32>, %flag: i1, %other: i1) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %s = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = scf.if %flag -> tensor<8xf32> {
    %c = arith.select %other, %e, %s : tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  } else {
    %d = linalg.abs ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %d : tensor<8xf32>
  }
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// An update is computed in place of the parameter, which the backward reads again after that, and is read itself once it is there.

#m = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func private @update_that_is_read
// CHECK-SAME: %[[W:[^:]*]]: memref<4xf32>{{[^%]*}}, %[[G:[^:]*]]: memref<4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[G]] : {{.*}}) outs(%[[NEW:.*]] :
// CHECK: linalg.generic {{.*}} ins(%[[W]] :
// CHECK: memref.copy %[[NEW]], %[[W]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[W]] :
func.func private @update_that_is_read(%w: tensor<4xf32> {bufferization.writable = true}, %g: tensor<4xf32>, %e: tensor<4xf32> {bufferization.writable = true}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y = tensor.empty() : tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]} ins(%w, %g : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %x = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%w : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %d = bufferization.materialize_in_destination %n in %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]} ins(%e, %n : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %d2 = bufferization.materialize_in_destination %t in %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %d, %d2, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Arguments that change places: nothing is read from where it is put if that is written again.

#m = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func private @arguments_that_change_places
// CHECK-SAME: %[[A:[^:]*]]: memref<4xf32>{{[^%]*}}, %[[B:[^:]*]]: memref<4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}}) outs(%[[NEW:.*]] :
// CHECK: memref.copy %[[B]], %[[A]]
// CHECK: memref.copy %[[NEW]], %[[B]]
func.func private @arguments_that_change_places(%a: tensor<4xf32> {bufferization.writable = true}, %b: tensor<4xf32> {bufferization.writable = true}) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = tensor.empty() : tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %c = bufferization.materialize_in_destination %b in %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = bufferization.materialize_in_destination %n in %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// The buffer has the size of the branch that runs.
// CHECK-LABEL: func.func @branches_of_different_sizes
// CHECK-SAME: %[[X:[^:]*]]: memref<8xf32>, %[[P:.*]]: i1, %[[N:.*]]: index, %[[M:.*]]: index,
// CHECK: %[[SIZE:.*]] = arith.select %[[P]], %[[N]], %[[M]]
// CHECK: memref.alloc(%[[SIZE]])
func.func @branches_of_different_sizes(%x: tensor<8xf32>, %p: i1, %n: index, %m: index) -> f32 {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-remark @+1 {{buffer stays an allocation: it has no static shape}}
  %r = scf.if %p -> (tensor<?xf32>) {
    %a = tensor.extract_slice %x[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = linalg.exp ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  } else {
    %a = tensor.extract_slice %x[0] [%m] [1] : tensor<8xf32> to tensor<?xf32>
    %e = tensor.empty(%m) : tensor<?xf32>
    %s = linalg.tanh ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  %sum = linalg.reduce { arith.addf } ins(%r : tensor<?xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  %l = tensor.extract %sum[] : tensor<f32>
  return %l : f32
}
