// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s -cse -canonicalize | FileCheck %s --check-prefix=ONCE
// RUN: remat-opt %s -loop-invariant-code-motion | FileCheck %s --check-prefix=LOOP

// CHECK-LABEL: func.func @rows(
// CHECK: remat.scatter_add ins(%{{.*}} : tensor<5x8xf32>) outs(%{{.*}} : tensor<100x8xf32>) {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: remat.yield %{{.*}}, %[[J]] : index, index
// CHECK: } -> tensor<100x8xf32>
// Two equal ones are merged, and one without users is erased.
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

// On memory there is no result; the table is written, so that what was loaded before is loaded again.
// CHECK-LABEL: func.func @memory(
// CHECK: remat.scatter_add ins(%{{.*}} : memref<5xf32>) outs(%{{.*}} : memref<9xf32, strided<[2], offset: 1>>) {
// CHECK: remat.yield
// CHECK-NEXT: }{{$}}
// ONCE-LABEL: func.func @memory(
// ONCE-SAME: %[[UPDATES:.*]]: memref<5xf32>, %[[ROWS:.*]]: memref<5xindex>, %[[TABLE:.*]]: memref<9xf32
// ONCE: memref.load %[[TABLE]]
// ONCE: remat.scatter_add
// ONCE: memref.load %[[TABLE]]
// ONCE: return
func.func @memory(%updates: memref<5xf32>, %rows: memref<5xindex>, %table: memref<9xf32, strided<[2], offset: 1>>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %before = memref.load %table[%c0] : memref<9xf32, strided<[2], offset: 1>>
  remat.scatter_add ins(%updates : memref<5xf32>) outs(%table : memref<9xf32, strided<[2], offset: 1>>) {
  ^bb0(%i: index):
    %row = memref.load %rows[%i] : memref<5xindex>
    remat.yield %row : index
  }
  %after = memref.load %table[%c0] : memref<9xf32, strided<[2], offset: 1>>
  return %before, %after : f32, f32
}

// A store to memory that only the body reads stays where it is.
// ONCE-LABEL: func.func @the_body_reads_memory(
// ONCE-SAME: %[[UPDATES:.*]]: memref<5xf32>, %[[ROWS:.*]]: memref<5xindex>, %[[TABLE:.*]]: memref<9xf32>
// ONCE: remat.scatter_add
// ONCE: memref.store %{{.*}}, %[[ROWS]]
// ONCE: remat.scatter_add
func.func @the_body_reads_memory(%updates: memref<5xf32>, %rows: memref<5xindex>, %table: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  remat.scatter_add ins(%updates : memref<5xf32>) outs(%table : memref<9xf32>) {
  ^bb0(%i: index):
    %row = memref.load %rows[%i] : memref<5xindex>
    remat.yield %row : index
  }
  memref.store %c0, %rows[%c0] : memref<5xindex>
  remat.scatter_add ins(%updates : memref<5xf32>) outs(%table : memref<9xf32>) {
  ^bb0(%i: index):
    %row = memref.load %rows[%i] : memref<5xindex>
    remat.yield %row : index
  }
  return
}

// One on tensors leaves a loop in which nothing changes, one on memory adds each time.
// LOOP-LABEL: func.func @loops(
// LOOP: remat.scatter_add {{.*}} outs(%{{.*}} : tensor<9xf32>)
// LOOP: scf.for
// LOOP: remat.scatter_add {{.*}} outs(%{{.*}} : memref<9xf32>)
func.func @loops(%updates: tensor<5xf32>, %sums: tensor<9xf32>, %buffer: memref<5xf32>, %table: memref<9xf32>, %at: index, %n: index) -> tensor<9xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %sums) -> tensor<9xf32> {
    %0 = remat.scatter_add ins(%updates : tensor<5xf32>) outs(%sums : tensor<9xf32>) {
    ^bb0(%j: index):
      remat.yield %at : index
    } -> tensor<9xf32>
    remat.scatter_add ins(%buffer : memref<5xf32>) outs(%table : memref<9xf32>) {
    ^bb0(%j: index):
      remat.yield %at : index
    }
    scf.yield %0 : tensor<9xf32>
  }
  return %r : tensor<9xf32>
}
