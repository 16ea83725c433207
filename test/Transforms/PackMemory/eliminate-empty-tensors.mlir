// RUN: remat-opt %s -remat-eliminate-empty-tensors -split-input-file | FileCheck %s

// Destinations of insertions are filled before the inserted tensors are computed
// in them, each as if it were alone.
// CHECK-LABEL: func.func @filled(
// CHECK: %[[WIDE:.*]] = remat.destination() : tensor<8xf32>
// CHECK-NEXT: %[[ZEROS:.*]] = linalg.fill {{.*}} outs(%[[WIDE]]
// CHECK-NEXT: %[[PLACE:.*]] = tensor.extract_slice %[[ZEROS]][0] [4] [1]
// CHECK: %[[A:.*]] = linalg.exp {{.*}} outs(%[[PLACE]]
// CHECK-NEXT: tensor.insert_slice %[[A]] into %[[ZEROS]]
// CHECK: %[[WIDE:.*]] = remat.destination() : tensor<8xf32>
// CHECK-NEXT: %[[ONES:.*]] = linalg.fill {{.*}} outs(%[[WIDE]]
// CHECK-NEXT: %[[PLACE:.*]] = tensor.extract_slice %[[ONES]][2] [4] [1]
// CHECK: %[[B:.*]] = linalg.log {{.*}} outs(%[[PLACE]]
// CHECK-NEXT: tensor.insert_slice %[[B]] into %[[ONES]]
func.func @filled(%x: tensor<4xf32>) -> (memref<8xf32>, memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e0 = tensor.empty() : tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %wide0 = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide0 : tensor<8xf32>) -> tensor<8xf32>
  %r0 = tensor.insert_slice %a into %zeros[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %b = linalg.log ins(%x : tensor<4xf32>) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %wide1 = tensor.empty() : tensor<8xf32>
  %ones = linalg.fill ins(%one : f32) outs(%wide1 : tensor<8xf32>) -> tensor<8xf32>
  %r1 = tensor.insert_slice %b into %ones[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %m0 = bufferization.to_buffer %r0 : tensor<8xf32> to memref<8xf32>
  %m1 = bufferization.to_buffer %r1 : tensor<8xf32> to memref<8xf32>
  return %m0, %m1 : memref<8xf32>, memref<8xf32>
}

// -----

// A number that is only known by then cannot be there before.
// CHECK-LABEL: func.func @filled_with_what_is_computed(
// CHECK: %[[A:.*]] = linalg.exp
// CHECK-NEXT: %[[VALUE:.*]] = tensor.extract %[[A]]
// CHECK: linalg.fill ins(%[[VALUE]]
// CHECK-NEXT: tensor.insert_slice %[[A]]
func.func @filled_with_what_is_computed(%x: tensor<4xf32>) -> memref<8xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %value = tensor.extract %a[%c0] : tensor<4xf32>
  %wide = tensor.empty() : tensor<8xf32>
  %filled = linalg.fill ins(%value : f32) outs(%wide : tensor<8xf32>) -> tensor<8xf32>
  %r = tensor.insert_slice %a into %filled[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %m = bufferization.to_buffer %r : tensor<8xf32> to memref<8xf32>
  return %m : memref<8xf32>
}

// -----

// A tensor that is not the destination of an insertion stays where it is.
// CHECK-LABEL: func.func @others(
// CHECK: %[[A:.*]] = linalg.exp
// CHECK-NEXT: %[[WIDE:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT: %[[ZEROS:.*]] = linalg.fill {{.*}} outs(%[[WIDE]]
// CHECK: linalg.abs ins(%[[ZEROS]]
func.func @others(%x: tensor<4xf32>) -> (memref<4xf32>, memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %wide = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<8xf32>) -> tensor<8xf32>
  %e8 = tensor.empty() : tensor<8xf32>
  %read = linalg.abs ins(%zeros : tensor<8xf32>) outs(%e8 : tensor<8xf32>) -> tensor<8xf32>
  %m0 = bufferization.to_buffer %a : tensor<4xf32> to memref<4xf32>
  %m1 = bufferization.to_buffer %read : tensor<8xf32> to memref<8xf32>
  return %m0, %m1 : memref<4xf32>, memref<8xf32>
}
