// RUN: remat-opt %s -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @adds_in_place_and_reads_the_indices_where_they_are(
// CHECK-SAME: %[[U:[a-z0-9]+]]: memref<5x8xf32>, %[[TOKENS:[a-z0-9]+]]: memref<5xi64>, %[[T:[a-z0-9]+]]: memref<100x8xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: remat.scatter_add ins(%[[U]] : memref<5x8xf32>) outs(%[[T]] : memref<100x8xf32>) attributes {remat.phase = "backward"} {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[TOKEN:.*]] = memref.load %[[TOKENS]][%[[I]]] : memref<5xi64>
// CHECK-NEXT: %[[ROW:.*]] = arith.index_cast %[[TOKEN]]
// CHECK-NEXT: remat.yield %[[ROW]], %[[J]]
// CHECK-NOT: memref.copy
// CHECK: return %[[T]]
func.func @adds_in_place_and_reads_the_indices_where_they_are(%updates: tensor<5x8xf32>, %tokens: tensor<5xi64>, %table: tensor<100x8xf32> {bufferization.writable = true}) -> tensor<100x8xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<100x8xf32>) attributes {remat.phase = "backward"} {
  ^bb0(%i: index, %j: index):
    %token = tensor.extract %tokens[%i] : tensor<5xi64>
    %row = arith.index_cast %token : i64 to index
    remat.yield %row, %j : index, index
  } -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}

// -----

// A fill in a new buffer, and two additions to it.
// CHECK-LABEL: func.func @sums_are_made_in_one_buffer(
// CHECK: %[[A:.*]] = memref.alloc
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: linalg.fill {{.*}} outs(%[[A]]
// CHECK: remat.scatter_add {{.*}} outs(%[[A]]
// CHECK: remat.scatter_add {{.*}} outs(%[[A]]
// CHECK-NOT: memref.copy
// CHECK: return %[[A]]
func.func @sums_are_made_in_one_buffer(%updates: tensor<5xf32>, %others: tensor<5xf32>) -> tensor<9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %0 = remat.scatter_add ins(%updates : tensor<5xf32>) outs(%zeros : tensor<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xf32>
  %1 = remat.scatter_add ins(%others : tensor<5xf32>) outs(%0 : tensor<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xf32>
  return %1 : tensor<9xf32>
}

// -----

// CHECK-LABEL: func.func @a_table_that_is_read_later_is_kept(
// CHECK-SAME: %{{.*}}: memref<5xf32>, %[[T:.*]]: memref<9xf32>
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy %[[T]], %[[NEW]]
// CHECK: remat.scatter_add {{.*}} outs(%[[NEW]]
// CHECK: linalg.exp ins(%[[T]]
func.func @a_table_that_is_read_later_is_kept(%updates: tensor<5xf32>, %table: tensor<9xf32> {bufferization.writable = true}) -> (tensor<9xf32>, tensor<9xf32>) {
  %0 = remat.scatter_add ins(%updates : tensor<5xf32>) outs(%table : tensor<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xf32>
  %e = tensor.empty() : tensor<9xf32>
  %1 = linalg.exp ins(%table : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  return %0, %1 : tensor<9xf32>, tensor<9xf32>
}

// -----

// Neither a table that is its own updates, nor one that the body reads, is written while it is read.
// CHECK-LABEL: func.func @updates_are_the_table(
// CHECK-SAME: %[[T:.*]]: memref<9xf32>, %[[ROWS:.*]]: memref<9xindex>
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy %[[T]], %[[NEW]]
// CHECK: remat.scatter_add ins(%[[T]] {{.*}} outs(%[[NEW]]
func.func @updates_are_the_table(%table: tensor<9xf32> {bufferization.writable = true}, %rows: tensor<9xindex>) -> tensor<9xf32> {
  %0 = remat.scatter_add ins(%table : tensor<9xf32>) outs(%table : tensor<9xf32>) {
  ^bb0(%i: index):
    %row = tensor.extract %rows[%i] : tensor<9xindex>
    remat.yield %row : index
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

// CHECK-LABEL: func.func @the_body_reads_the_table(
// CHECK-SAME: %{{.*}}: memref<5xf32>, %[[T:.*]]: memref<9xf32>
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy %[[T]], %[[NEW]]
// CHECK: remat.scatter_add {{.*}} outs(%[[NEW]]
// CHECK: memref.load %[[T]]
func.func @the_body_reads_the_table(%updates: tensor<5xf32>, %table: tensor<9xf32> {bufferization.writable = true}) -> tensor<9xf32> {
  %0 = remat.scatter_add ins(%updates : tensor<5xf32>) outs(%table : tensor<9xf32>) {
  ^bb0(%i: index):
    %x = tensor.extract %table[%i] : tensor<9xf32>
    %n = arith.fptoui %x : f32 to i64
    %row = arith.index_cast %n : i64 to index
    remat.yield %row : index
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
