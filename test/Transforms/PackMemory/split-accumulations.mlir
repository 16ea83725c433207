// RUN: remat-opt %s -remat-prepare-bufferization | FileCheck %s
// RUN: remat-opt %s -remat-bufferize | FileCheck %s --check-prefix=ONE

// The pieces of a chain compute in one buffer: nothing is copied.

// The gradient of a weight that many layers share.
// CHECK-LABEL: func.func @long_sum(
// ONE-LABEL: func.func @long_sum(
// ONE-NOT: memref.copy
// ONE: return
// CHECK-COUNT-7: %[[SUM:.*]] = linalg.matvec
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer %[[SUM]] :
// CHECK-NEXT: %[[REST:.*]] = bufferization.to_tensor %[[BUFFER]] restrict writable
// CHECK-NEXT: linalg.matvec {{.*}} outs(%[[REST]] :
func.func @long_sum(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %v16 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  return %v18 : tensor<8xf32>
}

func.func private @use(f32)

// The cotangent that passes many skip connections: each layer reads it before it
// adds to it.
// CHECK-LABEL: func.func @sums_that_are_read_before_the_next(
// ONE-LABEL: func.func @sums_that_are_read_before_the_next(
// ONE-NOT: memref.copy
// ONE: return
// CHECK-COUNT-7: %[[SUM:.*]] = linalg.matvec
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer %[[SUM]] :
// CHECK-NEXT: %[[REST:.*]] = bufferization.to_tensor %[[BUFFER]] restrict writable
// CHECK: linalg.matvec {{.*}} outs(%[[REST]] :
func.func @sums_that_are_read_before_the_next(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %c0 = arith.constant 0 : index
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %s1 = tensor.extract %v1[%c0] : tensor<8xf32>
  func.call @use(%s1) : (f32) -> ()
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %s2 = tensor.extract %v2[%c0] : tensor<8xf32>
  func.call @use(%s2) : (f32) -> ()
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %s3 = tensor.extract %v3[%c0] : tensor<8xf32>
  func.call @use(%s3) : (f32) -> ()
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %s4 = tensor.extract %v4[%c0] : tensor<8xf32>
  func.call @use(%s4) : (f32) -> ()
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %s5 = tensor.extract %v5[%c0] : tensor<8xf32>
  func.call @use(%s5) : (f32) -> ()
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %s6 = tensor.extract %v6[%c0] : tensor<8xf32>
  func.call @use(%s6) : (f32) -> ()
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %s7 = tensor.extract %v7[%c0] : tensor<8xf32>
  func.call @use(%s7) : (f32) -> ()
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %s8 = tensor.extract %v8[%c0] : tensor<8xf32>
  func.call @use(%s8) : (f32) -> ()
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %s9 = tensor.extract %v9[%c0] : tensor<8xf32>
  func.call @use(%s9) : (f32) -> ()
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %s10 = tensor.extract %v10[%c0] : tensor<8xf32>
  func.call @use(%s10) : (f32) -> ()
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %s11 = tensor.extract %v11[%c0] : tensor<8xf32>
  func.call @use(%s11) : (f32) -> ()
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %s12 = tensor.extract %v12[%c0] : tensor<8xf32>
  func.call @use(%s12) : (f32) -> ()
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %s13 = tensor.extract %v13[%c0] : tensor<8xf32>
  func.call @use(%s13) : (f32) -> ()
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %s14 = tensor.extract %v14[%c0] : tensor<8xf32>
  func.call @use(%s14) : (f32) -> ()
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %s15 = tensor.extract %v15[%c0] : tensor<8xf32>
  func.call @use(%s15) : (f32) -> ()
  %v16 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %s16 = tensor.extract %v16[%c0] : tensor<8xf32>
  func.call @use(%s16) : (f32) -> ()
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %s17 = tensor.extract %v17[%c0] : tensor<8xf32>
  func.call @use(%s17) : (f32) -> ()
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  return %v18 : tensor<8xf32>
}

// Through a view as well.
// CHECK-LABEL: func.func @view_that_is_read_before_the_next(
// ONE-LABEL: func.func @view_that_is_read_before_the_next(
// ONE-NOT: memref.copy
// ONE: return
// CHECK-COUNT-7: %[[SUM:.*]] = linalg.matvec
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer %[[SUM]] :
// CHECK-NEXT: %[[REST:.*]] = bufferization.to_tensor %[[BUFFER]] restrict writable
func.func @view_that_is_read_before_the_next(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %c0 = arith.constant 0 : index
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %v16 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %w16 = tensor.expand_shape %v16 [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %s16 = tensor.extract %w16[%c0, %c0] : tensor<4x2xf32>
  func.call @use(%s16) : (f32) -> ()
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  return %v18 : tensor<8xf32>
}

// The third sum has to be kept: the chain begins after it.
// CHECK-LABEL: func.func @sum_that_is_read_later(
// CHECK-COUNT-11: linalg.matvec
// CHECK-NEXT: bufferization.to_buffer
func.func @sum_that_is_read_later(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %v16 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  %c0 = arith.constant 0 : index
  %s = tensor.extract %v3[%c0] : tensor<8xf32>
  func.call @use(%s) : (f32) -> ()
  return %v18 : tensor<8xf32>
}

// So has what is seen through a view.
// CHECK-LABEL: func.func @view_that_is_read_later(
// CHECK-COUNT-11: linalg.matvec
// CHECK-NEXT: bufferization.to_buffer
func.func @view_that_is_read_later(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %w = tensor.expand_shape %v3 [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %v16 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  %c0 = arith.constant 0 : index
  %s = tensor.extract %w[%c0, %c0] : tensor<4x2xf32>
  func.call @use(%s) : (f32) -> ()
  return %v18 : tensor<8xf32>
}

// A few operations are left as they are.
// CHECK-LABEL: func.func @short_sum(
// CHECK-NOT: bufferization.to_tensor
// CHECK: return
func.func @short_sum(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  return %v6 : tensor<8xf32>
}

// An operation that reads what it overwrites is not the first of a piece.
// CHECK-LABEL: func.func @sum_that_the_next_reads(
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK-NEXT: %[[BUFFER:.*]] = bufferization.to_buffer %[[SUM]] :
// CHECK-NEXT: bufferization.to_tensor %[[BUFFER]]
func.func @sum_that_the_next_reads(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %v16 = linalg.add ins(%x, %v15 : tensor<8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  %v19 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v18 : tensor<8xf32>) -> tensor<8xf32>
  %v20 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v19 : tensor<8xf32>) -> tensor<8xf32>
  return %v20 : tensor<8xf32>
}

// An inserted tensor may be computed where it is inserted.
// CHECK-LABEL: func.func @sum_that_is_inserted(
// CHECK-NOT: bufferization.to_tensor
// CHECK: return
func.func @sum_that_is_inserted(%a: tensor<8x8xf32>, %x: tensor<8xf32>, %y: tensor<16xf32> {bufferization.writable = true}) -> tensor<16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v0 : tensor<8xf32>) -> tensor<8xf32>
  %v2 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v1 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v2 : tensor<8xf32>) -> tensor<8xf32>
  %v4 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v3 : tensor<8xf32>) -> tensor<8xf32>
  %v5 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v4 : tensor<8xf32>) -> tensor<8xf32>
  %v6 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v5 : tensor<8xf32>) -> tensor<8xf32>
  %v7 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v6 : tensor<8xf32>) -> tensor<8xf32>
  %v8 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v7 : tensor<8xf32>) -> tensor<8xf32>
  %v9 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>
  %v10 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v9 : tensor<8xf32>) -> tensor<8xf32>
  %v11 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v10 : tensor<8xf32>) -> tensor<8xf32>
  %v12 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v11 : tensor<8xf32>) -> tensor<8xf32>
  %v13 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v12 : tensor<8xf32>) -> tensor<8xf32>
  %v14 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v13 : tensor<8xf32>) -> tensor<8xf32>
  %v15 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v14 : tensor<8xf32>) -> tensor<8xf32>
  %v16 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v15 : tensor<8xf32>) -> tensor<8xf32>
  %v17 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v16 : tensor<8xf32>) -> tensor<8xf32>
  %v18 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v17 : tensor<8xf32>) -> tensor<8xf32>
  %r = tensor.insert_slice %v18 into %y[8] [8] [1] : tensor<8xf32> into tensor<16xf32>
  return %r : tensor<16xf32>
}

// Loops pass their buffers on, too.
// CHECK-LABEL: func.func @loops(
// ONE-LABEL: func.func @loops(
// ONE-NOT: memref.copy
// ONE: return
// CHECK-COUNT-7: scf.for
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer
// CHECK-NEXT: %[[REST:.*]] = bufferization.to_tensor %[[BUFFER]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[REST]])
func.func @loops(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %v0 = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v1 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v0) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v1) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v2) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v4 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v3) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v5 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v4) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v6 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v5) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v7 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v6) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v8 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v7) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v9 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v8) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v10 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v9) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v11 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v10) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v12 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v11) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v13 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v12) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v14 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v13) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v15 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v14) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v16 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v15) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %v17 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %v16) -> (tensor<8xf32>) {
    %n = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  return %v17 : tensor<8xf32>
}

// No recompute can be merged with its original any more: barriers go.
// CHECK-LABEL: func.func @barriers_go(
// CHECK-NOT: remat.barrier
// CHECK: linalg.matvec ins(%arg0, %arg1 :
func.func @barriers_go(%a: tensor<8x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %w = remat.barrier %a after %x : tensor<8x8xf32> after tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.matvec ins(%w, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
