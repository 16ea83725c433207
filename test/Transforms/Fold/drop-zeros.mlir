// RUN: remat-opt %s -remat-drop-zeros -split-input-file | FileCheck %s

// CHECK-LABEL: func @slices_that_are_all_of_a_tensor
// CHECK-NOT: linalg.fill
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4x6xf32>
// CHECK: tensor.insert_slice %arg0 into %[[E]]
func.func @slices_that_are_all_of_a_tensor(%a: tensor<4x2xf32>, %b: tensor<4x4xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tensor.insert_slice %a into %z[0, 4] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x6xf32>
  %1 = tensor.insert_slice %b into %0[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func @slices_that_leave_something
// CHECK: linalg.fill
// CHECK-LABEL: func @slices_that_overlap
// CHECK: linalg.fill
// CHECK-LABEL: func @zeros_that_something_reads
// CHECK: linalg.fill
// CHECK-LABEL: func @a_slice_that_anything_may_be
// CHECK: linalg.fill
func.func @slices_that_leave_something(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tensor.insert_slice %a into %z[0, 4] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x6xf32>
  %1 = tensor.insert_slice %b into %0[0, 0] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
func.func @slices_that_overlap(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tensor.insert_slice %a into %z[0, 2] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x6xf32>
  %1 = tensor.insert_slice %b into %0[0, 0] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
func.func @zeros_that_something_reads(%a: tensor<4x2xf32>, %b: tensor<4x4xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tensor.insert_slice %a into %z[0, 4] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x6xf32>
  %1 = tensor.insert_slice %b into %0[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}
func.func @a_slice_that_anything_may_be(%a: tensor<4x6xf32>, %n: index) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tensor.extract_slice %a[0, 0] [4, %n] [1, 1] : tensor<4x6xf32> to tensor<4x?xf32>
  %0 = tensor.insert_slice %s into %z[0, 0] [4, %n] [1, 1] : tensor<4x?xf32> into tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// The loop reads each row once, from the last to the first.
// CHECK-LABEL: func @rows_that_are_read_once
// CHECK: scf.for {{.*}} iter_args(%[[CT:.*]] = %arg0, %{{.*}} = %arg1)
// CHECK: tensor.extract_slice %[[CT]]
// CHECK-NOT: tensor.insert_slice
// CHECK: scf.yield %[[CT]],
func.func @rows_that_are_read_once(%ct: tensor<9x8xf32>, %h: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %l:2 = scf.for %k = %c0 to %c9 step %c1 iter_args(%t = %ct, %s = %h) -> (tensor<9x8xf32>, tensor<8xf32>) {
    %i = arith.subi %c8, %k : index
    %row = tensor.extract_slice %t[%i, 0] [1, 8] [1, 1] : tensor<9x8xf32> to tensor<8xf32>
    %a = linalg.add ins(%row, %s : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %n = tensor.insert_slice %z into %t[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<9x8xf32>
    scf.yield %n, %a : tensor<9x8xf32>, tensor<8xf32>
  }
  return %l#1 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func @the_loop_hands_the_zeros_on
// CHECK: tensor.insert_slice
func.func @the_loop_hands_the_zeros_on(%ct: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %l = scf.for %i = %c0 to %c9 step %c1 iter_args(%t = %ct) -> (tensor<9x8xf32>) {
    %n = tensor.insert_slice %z into %t[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<9x8xf32>
    scf.yield %n : tensor<9x8xf32>
  }
  return %l : tensor<9x8xf32>
}

// -----

// Rows of two steps overlap, are the same, or are others than those that are read.
// CHECK-LABEL: func @rows_that_are_read_again
// CHECK-COUNT-3: tensor.insert_slice
func.func @rows_that_are_read_again(%ct: tensor<9x8xf32>, %h: tensor<2x8xf32>, %at: index) -> tensor<2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<2x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  %l:4 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %ct, %u = %ct, %v = %ct, %s = %h) -> (tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<2x8xf32>) {
    %row = tensor.extract_slice %t[%i, 0] [2, 8] [1, 1] : tensor<9x8xf32> to tensor<2x8xf32>
    %a = linalg.add ins(%row, %s : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
    %n = tensor.insert_slice %z into %t[%i, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<9x8xf32>
    %same = tensor.extract_slice %u[%at, 0] [2, 8] [1, 1] : tensor<9x8xf32> to tensor<2x8xf32>
    %b = linalg.add ins(%same, %a : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
    %m = tensor.insert_slice %z into %u[%at, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<9x8xf32>
    %other = tensor.extract_slice %v[%at, 0] [2, 8] [1, 1] : tensor<9x8xf32> to tensor<2x8xf32>
    %c = linalg.add ins(%other, %b : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
    %k = tensor.insert_slice %z into %v[%i, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<9x8xf32>
    scf.yield %n, %m, %k, %c : tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<2x8xf32>
  }
  return %l#3 : tensor<2x8xf32>
}

// -----

// Zeros of two cotangents are one after CSE: each is looked at on its own.
// CHECK-LABEL: func @zeros_that_two_start_from
// CHECK: %[[E:.*]] = tensor.empty() : tensor<6xf32>
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: tensor.insert_slice %arg0 into %[[E]][0] [2]
// CHECK: tensor.insert_slice %arg1 into
// CHECK: tensor.insert_slice %arg1 into %[[E]][2] [4]
// CHECK: tensor.insert_slice %arg0 into
// CHECK: tensor.insert_slice %arg0 into %[[ZEROS]][1] [2]
func.func @zeros_that_two_start_from(%a: tensor<2xf32>, %b: tensor<4xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %0 = tensor.insert_slice %a into %z[0] [2] [1] : tensor<2xf32> into tensor<6xf32>
  %1 = tensor.insert_slice %b into %0[2] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %2 = tensor.insert_slice %b into %z[2] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %3 = tensor.insert_slice %a into %2[0] [2] [1] : tensor<2xf32> into tensor<6xf32>
  %4 = tensor.insert_slice %a into %z[1] [2] [1] : tensor<2xf32> into tensor<6xf32>
  return %1, %3, %4 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
