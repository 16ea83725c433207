// RUN: remat-opt %s -remat-lower-tapes | FileCheck %s
// RUN: remat-opt %s -remat-lower-tapes -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   | FileCheck %s --check-prefix=MEM

// CHECK-LABEL: func.func @tapes_are_slices_of_one_buffer(
// MEM-LABEL: func.func @tapes_are_slices_of_one_buffer(
// MEM: memref.alloc() {{.*}}memref<10x4xf32>
// MEM: scf.for
// MEM: memref.alloc() {{.*}}memref<4xf32>
// MEM: memref.subview
// The record itself; the tape is never copied, and read where it lies.
// MEM-NEXT: memref.copy {{.*}} : memref<4xf32> to memref<4xf32,
// MEM: scf.for
// MEM-NOT: memref.copy
// MEM: %[[READ:.*]] = memref.subview
// MEM-NOT: memref.{{alloc|copy}}
// MEM: linalg.mul ins(%[[READ]],
// MEM-NOT: memref.{{alloc|copy}}
// MEM: return
func.func @tapes_are_slices_of_one_buffer(%x: tensor<4xf32>, %g: tensor<4xf32> {bufferization.writable = true}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %empty = tensor.empty() : tensor<10x4xf32>
  // CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[T:.*]] = %{{.*}})
  %f = scf.for %i = %c0 to %c10 step %c1 iter_args(%t = %empty) -> (tensor<10x4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    // CHECK: tensor.insert_slice %{{.*}} into %[[T]][%[[I]], 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    %t1 = remat.tape_write %s into %t[%i] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %t1 : tensor<10x4xf32>
  }
  %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%ct = %g) -> tensor<4xf32> {
    %i = arith.subi %c9, %j : index
    // CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 4] [1, 1] {remat.phase = "backward"} : tensor<10x4xf32> to tensor<4xf32>
    %h = remat.tape_read %f[%i] {remat.phase = "backward"} : tensor<10x4xf32> -> tensor<4xf32>
    %d = linalg.mul ins(%h, %ct : tensor<4xf32>, tensor<4xf32>) outs(%ct : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %d : tensor<4xf32>
  }
  return %b : tensor<4xf32>
}

// CHECK-LABEL: func.func @scalars_and_random_states_are_elements(
// CHECK-SAME: %[[S:[a-z0-9]+]]: f32, %[[R:[a-z0-9]+]]: vector<2xi64>, %[[I:[a-z0-9]+]]: index
func.func @scalars_and_random_states_are_elements(%s: f32, %r: vector<2xi64>, %i: index) -> (f32, vector<2xi64>) {
  %e0 = tensor.empty() : tensor<10xf32>
  %e1 = tensor.empty() : tensor<10xvector<2xi64>>
  // CHECK: %[[T0:.*]] = tensor.insert %[[S]] into %{{.*}}[%[[I]]] : tensor<10xf32>
  %t0 = remat.tape_write %s into %e0[%i] : f32 into tensor<10xf32>
  // CHECK: %[[T1:.*]] = tensor.insert %[[R]] into %{{.*}}[%[[I]]] : tensor<10xvector<2xi64>>
  %t1 = remat.tape_write %r into %e1[%i] : vector<2xi64> into tensor<10xvector<2xi64>>
  // CHECK: tensor.extract %[[T0]][%[[I]]] : tensor<10xf32>
  %0 = remat.tape_read %t0[%i] : tensor<10xf32> -> f32
  // CHECK: tensor.extract %[[T1]][%[[I]]] : tensor<10xvector<2xi64>>
  %1 = remat.tape_read %t1[%i] : tensor<10xvector<2xi64>> -> vector<2xi64>
  return %0, %1 : f32, vector<2xi64>
}

// CHECK-LABEL: func.func @a_record_of_a_dynamic_shape(
// CHECK: %[[D:.*]] = tensor.dim
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%{{.*}}, 0] [1, %[[D]]] [1, 1] : tensor<?xf32> into tensor<10x?xf32>
func.func @a_record_of_a_dynamic_shape(%v: tensor<?xf32>, %t: tensor<10x?xf32>, %i: index) -> tensor<10x?xf32> {
  %0 = remat.tape_write %v into %t[%i] : tensor<?xf32> into tensor<10x?xf32>
  return %0 : tensor<10x?xf32>
}
