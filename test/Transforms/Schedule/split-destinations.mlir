// RUN: remat-opt %s -cse -remat-split-destinations | FileCheck %s
// RUN: remat-opt %s -cse -remat-split-destinations -remat-bufferize | FileCheck %s --check-prefix=MEMREF

// CSE merges the two zero tensors; each product gets its own again.
// CHECK-LABEL: func.func @each_product_accumulates_into_its_own_zeros
// CHECK: %[[E0:.*]] = remat.destination()
// CHECK: %[[Z0:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E0]]
// CHECK: linalg.matmul {{.*}} outs(%[[Z0]]
// CHECK: %[[E1:.*]] = remat.destination()
// CHECK: %[[Z1:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E1]]
// CHECK: linalg.matmul {{.*}} outs(%[[Z1]]
// MEMREF-LABEL: func.func @each_product
// MEMREF-NOT: memref.copy
// MEMREF: return
func.func @each_product_accumulates_into_its_own_zeros(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x4xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %e1 = tensor.empty() : tensor<4x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%b, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// A fill of memory that somebody else sees is not a destination to clone.
// CHECK-LABEL: func.func @fill_of_an_argument_stays
// CHECK-COUNT-1: linalg.fill
// CHECK-NOT: linalg.fill
func.func @fill_of_an_argument_stays(%a: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %z0 = linalg.fill ins(%zero : f32) outs(%w : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%a, %z0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// The barriers kept CSE from merging the fills of two recomputes. Their common
// empty tensor would live from the first to the last and be copied.
// CHECK-LABEL: func.func @recomputes_do_not_share_the_empty_tensor_behind_their_barriers
// CHECK-SAME: (%[[A:[^:]*]]:
// CHECK-NOT: remat.barrier %{{.*}}, %{{.*}} after
// CHECK: %[[GUARDED:.*]] = remat.barrier %[[A]] after
// CHECK: %[[E0:.*]] = remat.destination()
// CHECK: %[[Z0:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E0]]
// CHECK: linalg.matmul ins(%[[GUARDED]], {{.*}} outs(%[[Z0]]
// CHECK: %[[E1:.*]] = remat.destination()
// CHECK: %[[Z1:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E1]]
// CHECK: linalg.matmul {{.*}} outs(%[[Z1]]
// CHECK-NOT: remat.barrier
// CHECK: return
// MEMREF-LABEL: func.func @recomputes_do_not_share
// MEMREF-NOT: memref.copy
// MEMREF: return
func.func @recomputes_do_not_share_the_empty_tensor_behind_their_barriers(%a: tensor<4x4xf32>, %d: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %guarded:2 = remat.barrier %a, %e after %d : tensor<4x4xf32>, tensor<4x4xf32> after tensor<4x4xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%guarded#1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%guarded#0, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %e1 = remat.barrier %e after %0 : tensor<4x4xf32> after tensor<4x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%d, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @iterations_fill_their_slice_instead_of_copying_zeros
// CHECK: scf.for
// CHECK: %[[E:.*]] = remat.destination() : tensor<4xf32>
// CHECK: %[[Z:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E]]
// CHECK: tensor.insert_slice %[[Z]]
// MEMREF-LABEL: func.func @iterations_fill
// MEMREF: scf.for
// MEMREF: linalg.fill
// MEMREF-NOT: memref.copy
// MEMREF: return
func.func @iterations_fill_their_slice_instead_of_copying_zeros(%t: tensor<8x4xf32> {bufferization.writable = true}) -> (tensor<8x4xf32> {remat.updates = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = scf.for %i = %c0 to %c8 step %c2 iter_args(%a = %t) -> (tensor<8x4xf32>) {
    %1 = tensor.insert_slice %z into %a[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32>
    scf.yield %1 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}
