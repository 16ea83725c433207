// RUN: remat-opt %s -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @a_barrier_is_its_operands_buffer(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[S:[a-z0-9]+]]: f32, %[[CT:[a-z0-9]+]]: memref<4xf32>
// CHECK-NOT: memref.copy
// CHECK: %[[A:.*]] = memref.alloc
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[S]], %[[CT]] : memref<4xf32>, f32, memref<4xf32>) outs(%[[A]]
// CHECK-NOT: memref.copy
// CHECK: return %[[A]]
#id = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>
func.func @a_barrier_is_its_operands_buffer(%x: tensor<4xf32>, %s: f32, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %b, %t = remat.barrier %x, %s after %ct : tensor<4xf32>, f32 after tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #scalar, #id, #id], iterator_types = ["parallel"]}
      ins(%b, %t, %ct : tensor<4xf32>, f32, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %o: f32):
    %1 = arith.mulf %p, %q : f32
    %2 = arith.addf %1, %r : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The recompute reads the parameter before the step overwrites it: in place.
// CHECK-LABEL: func.func @a_step_after_the_recompute_is_in_place(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[R:.*]] = memref.alloc
// CHECK: linalg.exp ins(%[[W]] {{.*}} outs(%[[R]]
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: linalg.sub ins(%[[W]], %[[R]] {{.*}} outs(%[[W]]
// CHECK: return
func.func @a_step_after_the_recompute_is_in_place(%w: tensor<4xf32> {bufferization.writable = true}, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %b = remat.barrier %w after %ct : tensor<4xf32> after tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = linalg.sub ins(%w, %r : tensor<4xf32>, tensor<4xf32>) outs(%w : tensor<4xf32>) -> tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// A read through the barrier after the step is a read of the old parameter:
// bufferization must see it, and keeps the old value apart.
// CHECK-LABEL: func.func @a_step_before_the_recompute_keeps_the_old_value(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32>, %[[CT:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[OLD:.*]] = memref.alloc
// CHECK: memref.copy %[[W]], %[[OLD]]
// CHECK: linalg.sub ins(%[[W]], %[[CT]] {{.*}} outs(%[[W]]
// CHECK: linalg.exp ins(%[[OLD]]
func.func @a_step_before_the_recompute_keeps_the_old_value(%w: tensor<4xf32> {bufferization.writable = true}, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %b = remat.barrier %w after %ct : tensor<4xf32> after tensor<4xf32>
  %n = linalg.sub ins(%w, %ct : tensor<4xf32>, tensor<4xf32>) outs(%w : tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %n, %r : tensor<4xf32>, tensor<4xf32>
}

// -----

// A value without later reads is overwritten through the barrier, too.
// CHECK-LABEL: func.func @a_write_through_the_barrier_is_in_place(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32>
// CHECK-NOT: memref.alloc
// CHECK: linalg.exp ins(%[[W]] {{.*}} outs(%[[W]]
func.func @a_write_through_the_barrier_is_in_place(%w: tensor<4xf32> {bufferization.writable = true}, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %b = remat.barrier %w after %ct : tensor<4xf32> after tensor<4xf32>
  %r = linalg.exp ins(%b : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
