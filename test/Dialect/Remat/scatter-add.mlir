// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s -cse -canonicalize | FileCheck %s --check-prefix=ONCE

// CHECK-LABEL: func.func @rows(
// CHECK: remat.scatter_add ins(%{{.*}} : tensor<5x8xf32>) outs(%{{.*}} : tensor<100x8xf32>) {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: remat.yield %{{.*}}, %[[J]] : index, index
// CHECK: } -> tensor<100x8xf32>
// Two of the same are one, and one that nobody reads goes.
// ONCE-LABEL: func.func @rows(
// ONCE: remat.scatter_add
// ONCE-NOT: remat.scatter_add
// ONCE: return
func.func @rows(%updates: tensor<5x8xf32>, %tokens: tensor<5xi64>, %table: tensor<100x8xf32>) -> (tensor<100x8xf32>, tensor<100x8xf32>) {
  %0 = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<100x8xf32>) {
  ^bb0(%i: index, %j: index):
    %token = tensor.extract %tokens[%i] : tensor<5xi64>
    %row = arith.index_cast %token : i64 to index
    remat.yield %row, %j : index, index
  } -> tensor<100x8xf32>
  %1 = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<100x8xf32>) {
  ^bb0(%i: index, %j: index):
    %token = tensor.extract %tokens[%i] : tensor<5xi64>
    %row = arith.index_cast %token : i64 to index
    remat.yield %row, %j : index, index
  } -> tensor<100x8xf32>
  %2 = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<100x8xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %j, %i : index, index
  } -> tensor<100x8xf32>
  return %0, %1 : tensor<100x8xf32>, tensor<100x8xf32>
}

// Half precision into a wider sum; a rank of zero.
// CHECK-LABEL: func.func @one(
// CHECK: remat.scatter_add ins(%{{.*}} : tensor<bf16>) outs(%{{.*}} : tensor<4xf32>) {
func.func @one(%update: tensor<bf16>, %at: index, %sum: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.scatter_add ins(%update : tensor<bf16>) outs(%sum : tensor<4xf32>) {
    remat.yield %at : index
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
