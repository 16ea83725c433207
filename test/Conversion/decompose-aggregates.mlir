// RUN: remat-opt %s -convert-linalg-aggregates-to-structured | FileCheck %s

// CHECK-LABEL: func.func @divides_once_for_each_row(
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: ^bb0(%[[E:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[S]] : f32
// CHECK: arith.mulf %[[E]], %[[INVERSE]] : f32
func.func @divides_once_for_each_row(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The inverse of a sum of many may be denormal in f16.
// CHECK-LABEL: func.func @divides_each_element_of_a_narrow_type(
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: ^bb0(%[[E:.*]]: f16, %[[S:.*]]: f16, %{{.*}}: f16):
// CHECK-NEXT: %[[Y:.*]] = arith.divf %[[E]], %[[S]] : f16
// CHECK-NEXT: linalg.yield %[[Y]] : f16
func.func @divides_each_element_of_a_narrow_type(%x: tensor<4x8xf16>, %out: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf16>) outs(%out : tensor<4x8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}
