// RUN: remat-opt %s -remat-fold | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The place of a maximum that nothing reads goes, and what only it was made of.

// CHECK-LABEL: func.func @maximum
// CHECK-NOT: i64
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} : tensor<8xf32>)
// CHECK-NOT: linalg.index
// CHECK: arith.maximumf
// CHECK-NEXT: linalg.yield
// CHECK: return %[[MAX]]
func.func @maximum(%x: tensor<8x64xf32>) -> tensor<8xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<8xf32>
  %f = tensor.empty() : tensor<8xi64>
  %low = linalg.fill ins(%lowest : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %first = linalg.fill ins(%zero : i64) outs(%f : tensor<8xi64>) -> tensor<8xi64>
  %max:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x64xf32>) outs(%low, %first : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%in: f32, %out: f32, %place: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %larger = arith.maximumf %in, %out : f32
    %is = arith.cmpf ogt, %in, %out : f32
    %chosen = arith.select %is, %n, %place : i64
    linalg.yield %larger, %chosen : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %max#0 : tensor<8xf32>
}

// A maximum stays where the place is read, which depends on it.

// CHECK-LABEL: func.func @place
// CHECK: arith.maximumf
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, i64
func.func @place(%x: tensor<8x64xf32>) -> tensor<8xi64> {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<8xf32>
  %f = tensor.empty() : tensor<8xi64>
  %low = linalg.fill ins(%lowest : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %first = linalg.fill ins(%zero : i64) outs(%f : tensor<8xi64>) -> tensor<8xi64>
  %max:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x64xf32>) outs(%low, %first : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%in: f32, %out: f32, %place: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %larger = arith.maximumf %in, %out : f32
    %is = arith.cmpf ogt, %in, %out : f32
    %chosen = arith.select %is, %n, %place : i64
    linalg.yield %larger, %chosen : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %max#1 : tensor<8xi64>
}
