// RUN: remat-opt %s -convert-scatter-add-to-loops -split-input-file | FileCheck %s

// Rows are added in the order of the tokens, one vectorizable row at a time.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[U:.*]]: tensor<5x8xbf16>, %[[TOKENS:.*]]: tensor<5xi64>, %[[T:.*]]: tensor<100x8xf32>
// CHECK-NOT: remat.scatter_add
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c5 step %{{.*}} iter_args(%[[TABLE:.*]] = %[[T]])
// CHECK: %[[ID:.*]] = tensor.extract %[[TOKENS]][%[[I]]] {remat.phase = "backward"}
// CHECK: %[[AT:.*]] = arith.index_cast %[[ID]]
// CHECK: %[[OLD:.*]] = tensor.extract_slice %[[TABLE]][%[[AT]], 0] [1, 8] [1, 1]
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[U]][%[[I]], 0] [1, 8] [1, 1]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[ROW]] : tensor<8xbf16>) outs(%[[OLD]] : tensor<8xf32>)
// CHECK: arith.extf
// CHECK: arith.addf
// CHECK: %[[NEW:.*]] = tensor.insert_slice %[[SUM]] into %[[TABLE]][%[[AT]], 0]
// CHECK: scf.yield {{.*}}%[[NEW]]
func.func @rows(%updates: tensor<5x8xbf16>, %tokens: tensor<5xi64>, %table: tensor<100x8xf32>) -> tensor<100x8xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5x8xbf16>) outs(%table : tensor<100x8xf32>) attributes {remat.phase = "backward"} {
  ^bb0(%i: index, %j: index):
    %token = tensor.extract %tokens[%i] : tensor<5xi64>
    %row = arith.index_cast %token : i64 to index
    remat.yield %row, %j : index, index
  } -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}

// -----

// Rows of two dimensions, in another order than in the updates; sizes that are not known.
// CHECK-LABEL: func.func @transposed(
// CHECK: %[[OLD:.*]] = tensor.extract_slice %{{.*}}[0, %{{.*}}, 0] [%[[D:.*]], 1, 4] [1, 1, 1] : tensor<?x9x4xf32> to tensor<?x4xf32>
// CHECK: %[[ROW:.*]] = tensor.extract_slice %{{.*}}[0, %{{.*}}, 0] [4, 1, %[[D]]] [1, 1, 1] : tensor<4x5x?xf32> to tensor<4x?xf32>
// CHECK: linalg.generic {indexing_maps = [#[[SWAP:.*]], #{{.*}}], {{.*}} ins(%[[ROW]] : tensor<4x?xf32>) outs(%[[OLD]] : tensor<?x4xf32>)
func.func @transposed(%updates: tensor<4x5x?xf32>, %rows: tensor<5xindex>, %table: tensor<?x9x4xf32>) -> tensor<?x9x4xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<4x5x?xf32>) outs(%table : tensor<?x9x4xf32>) {
  ^bb0(%i: index, %j: index, %k: index):
    %row = tensor.extract %rows[%j] : tensor<5xindex>
    remat.yield %k, %row, %i : index, index, index
  } -> tensor<?x9x4xf32>
  return %0 : tensor<?x9x4xf32>
}

// -----

// A computed index that depends on the rows' argument, or an argument that is used twice: elements one by one.
// CHECK-LABEL: func.func @diagonal(
// CHECK: scf.for
// CHECK: tensor.extract
// CHECK: arith.addf
// CHECK: tensor.insert
// CHECK-LABEL: func.func @depends(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.insert
// CHECK-LABEL: func.func @scalar(
// CHECK-NOT: scf.for
// CHECK: tensor.insert
func.func @diagonal(%updates: tensor<5xf32>, %table: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5xf32>) outs(%table : tensor<5x5xf32>) {
  ^bb0(%i: index):
    remat.yield %i, %i : index, index
  } -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32>
}
func.func @depends(%updates: tensor<5x8xf32>, %rows: tensor<5x8xindex>, %table: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<9x8xf32>) {
  ^bb0(%i: index, %j: index):
    %row = tensor.extract %rows[%i, %j] : tensor<5x8xindex>
    remat.yield %row, %j : index, index
  } -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}
func.func @scalar(%update: tensor<f32>, %at: index, %table: tensor<9xf32>) -> tensor<9xf32> {
  %0 = remat.scatter_add ins(%update : tensor<f32>) outs(%table : tensor<9xf32>) {
    remat.yield %at : index
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

// There are no updates for rows that would not fit.
// CHECK-LABEL: func.func @rows_that_do_not_fit(
// CHECK-NOT: extract_slice
// CHECK: tensor.insert
// CHECK-LABEL: func.func @rows_of_nothing(
// CHECK-SAME: %{{.*}}: tensor<5x?xf32>, %[[TABLE:.*]]: tensor<9x0xf32>
// CHECK-NEXT: return %[[TABLE]]
// CHECK-LABEL: func.func @no_updates(
// CHECK-SAME: %{{.*}}: tensor<5x0xf32>, %[[TABLE:.*]]: tensor<9x4xf32>
// CHECK-NEXT: return %[[TABLE]]
func.func @rows_that_do_not_fit(%updates: tensor<?x8xf32>, %table: tensor<9x4xf32>) -> tensor<9x4xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<?x8xf32>) outs(%table : tensor<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    %row = arith.addi %i, %i : index
    remat.yield %row, %j : index, index
  } -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}
func.func @rows_of_nothing(%updates: tensor<5x?xf32>, %table: tensor<9x0xf32>) -> tensor<9x0xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5x?xf32>) outs(%table : tensor<9x0xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %i, %j : index, index
  } -> tensor<9x0xf32>
  return %0 : tensor<9x0xf32>
}
func.func @no_updates(%updates: tensor<5x0xf32>, %table: tensor<9x4xf32>) -> tensor<9x4xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5x0xf32>) outs(%table : tensor<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %i, %j : index, index
  } -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

// -----

// What is asserted of each element is not known of a row.
// CHECK-LABEL: func.func @asserted(
// CHECK: scf.for
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[IS_SMALL:.*]] = arith.cmpi ult, %[[J]],
// CHECK: cf.assert %[[IS_SMALL]]
// CHECK-NOT: extract_slice
// CHECK: tensor.insert
func.func @asserted(%updates: tensor<5x8xf32>, %table: tensor<9x8xf32>, %n: index) -> tensor<9x8xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<9x8xf32>) {
  ^bb0(%i: index, %j: index):
    %is_small = arith.cmpi ult, %j, %n : index
    cf.assert %is_small, "a column is outside"
    remat.yield %i, %j : index, index
  } -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}
