// RUN: remat-opt %s --remat-differentiate --canonicalize --cse | FileCheck %s

// A scatter is linear: the cotangent of its result is that of what it adds to, and is gathered for the updates.

// CHECK-LABEL: func.func @both_grad
// CHECK: remat.begin_backward
// CHECK: %[[G:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x5xf32>)
// CHECK: %[[UPDATES:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<9x5xf32>)
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[N:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<9xi64>
// CHECK: %[[R:.*]] = arith.index_cast %[[N]]
// CHECK: tensor.extract %[[G]][%[[R]], %[[J]]] : tensor<4x5xf32>
// CHECK: return %{{.*}}, %[[G]], %[[UPDATES]]
func.func @both(%x: tensor<4x5xf32> {opt.param}, %rows: tensor<9x5xf32> {opt.param}, %places: tensor<9xi64>) -> tensor<f32> {
  %sum = remat.scatter_add ins(%rows : tensor<9x5xf32>) outs(%x : tensor<4x5xf32>) {
  ^bb0(%i: index, %j: index):
    %n = tensor.extract %places[%i] : tensor<9xi64>
    %r = arith.index_cast %n : i64 to index
    remat.yield %r, %j : index, index
  } -> tensor<4x5xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce {arith.addf} ins(%sum : tensor<4x5xf32>) outs(%start : tensor<f32>) dimensions = [0, 1]
  return %loss : tensor<f32>
}

// Updates of 16 bits that are added up in 32 have cotangents of 16 bits. Those of what is not trained are not computed.

// CHECK-LABEL: func.func @narrow_grad
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<9xbf16>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: return %{{.*}}, %{{.*}} : tensor<f32>, tensor<9xbf16>
func.func @narrow(%x: tensor<4xf32>, %rows: tensor<9xbf16> {opt.param}, %places: tensor<9xi32>) -> tensor<f32> {
  %sum = remat.scatter_add ins(%rows : tensor<9xbf16>) outs(%x : tensor<4xf32>) {
  ^bb0(%i: index):
    %n = tensor.extract %places[%i] : tensor<9xi32>
    %r = arith.index_cast %n : i32 to index
    remat.yield %r : index
  } -> tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce {arith.addf} ins(%sum : tensor<4xf32>) outs(%start : tensor<f32>) dimensions = [0]
  return %loss : tensor<f32>
}
