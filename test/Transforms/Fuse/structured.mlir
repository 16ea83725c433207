// RUN: remat-opt %s -remat-fuse -cse | FileCheck %s

// CHECK-LABEL: func @a_chain_of_tensor_operations_is_one_kernel(
// CHECK-COUNT-1: linalg.generic
// CHECK:           math.sincos
// CHECK:           arith.select
// CHECK:         } -> tensor<4xf32>
// CHECK-NEXT:    return
func.func @a_chain_of_tensor_operations_is_one_kernel(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %s, %k = math.sincos %x : tensor<4xf32>
  %p = arith.mulf %s, %k : tensor<4xf32>
  %y = arith.select %c, %p, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @phases_stay(
// CHECK:         linalg.generic {{.*}} attrs =  {remat.phase = "recompute"} {
// CHECK:           math.exp %{{.*}} : f32
func.func @phases_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x {remat.phase = "recompute"} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @generate(
// CHECK-NOT:     tensor.generate
// CHECK:         linalg.generic
// CHECK:           %[[I:.*]] = linalg.index 0
// CHECK:           tensor.extract %{{.*}}[%[[I]]]
func.func @generate(%x: tensor<8xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.generate %n {
  ^bb0(%i: index):
    %e = tensor.extract %x[%i] : tensor<8xf32>
    tensor.yield %e : f32
  } : tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK-LABEL: func @gather_of_rows(
// CHECK:         linalg.generic
// CHECK:           %[[B:.*]] = linalg.index 0
// CHECK:           %[[P:.*]] = tensor.extract %arg1[%[[B]], %{{.*}}] : tensor<5x1xi32>
// CHECK:           %[[I:.*]] = arith.index_cast %[[P]]
// CHECK:           %[[J:.*]] = linalg.index 1
// CHECK:           tensor.extract %arg0[%[[I]], %[[J]]]
func.func @gather_of_rows(%t: tensor<8x3xf32>, %p: tensor<5x1xi32>) -> tensor<5x3xf32> {
  %y = tensor.gather %t[%p] gather_dims([0]) : (tensor<8x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// CHECK-LABEL: func @only_padding_with_a_constant_stays(
// CHECK:         tensor.pad
// CHECK-NOT:     tensor.pad
// CHECK:         linalg.fill
// CHECK:         tensor.insert_slice
func.func @only_padding_with_a_constant_stays(%x: tensor<4xf32>, %v: f32) -> (tensor<6xf32>, tensor<6xf32>) {
  %c = arith.constant 1.0 : f32
  %y = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<6xf32>
  %z = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %v : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %y, %z : tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: func @layouts(
// CHECK-NOT:     linalg.pack
// CHECK:         tensor.pad
// CHECK:         tensor.expand_shape
// CHECK-NOT:     linalg.unpack
// CHECK:         tensor.collapse_shape
// CHECK:         tensor.extract_slice
func.func @layouts(%x: tensor<5x6xf32>) -> tensor<5x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x3x2x2xf32>
  %p = linalg.pack %x padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e
      : tensor<5x6xf32> -> tensor<3x3x2x2xf32>
  %f = tensor.empty() : tensor<5x6xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %f : tensor<3x3x2x2xf32> -> tensor<5x6xf32>
  return %u : tensor<5x6xf32>
}

// CHECK-LABEL: func @bits_of_numbers(
// CHECK:         arith.bitcast %{{.*}} : f32 to i32
func.func @bits_of_numbers(%x: tensor<4xf32>) -> tensor<4xi32> {
  %y = tensor.bitcast %x : tensor<4xf32> to tensor<4xi32>
  return %y : tensor<4xi32>
}
