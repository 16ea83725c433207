// RUN: remat-opt %s -convert-scatter-add-to-loops -split-input-file | FileCheck %s

// Rows are added in the order of the tokens, one vectorizable row at a time. So few are not shared.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[U:.*]]: memref<5x8xbf16>, %[[TOKENS:.*]]: memref<5xi64>, %[[T:.*]]: memref<100x8xf32>
// CHECK-NOT: remat.scatter_add
// CHECK-NOT: scf.parallel
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c5 step
// CHECK: %[[ID:.*]] = memref.load %[[TOKENS]][%[[I]]] {remat.phase = "backward"}
// CHECK: %[[AT:.*]] = arith.index_cast %[[ID]]
// CHECK: %[[ROW:.*]] = memref.subview %[[U]][%[[I]], 0] [1, 8] [1, 1]
// CHECK: %[[SUM:.*]] = memref.subview %[[T]][%[[AT]], 0] [1, 8] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[ROW]] : memref<8xbf16, {{.*}}>) outs(%[[SUM]] : memref<8xf32, {{.*}}>)
// CHECK: arith.extf
// CHECK: arith.addf
func.func @rows(%updates: memref<5x8xbf16>, %tokens: memref<5xi64>, %table: memref<100x8xf32>) {
  remat.scatter_add ins(%updates : memref<5x8xbf16>) outs(%table : memref<100x8xf32>) attributes {remat.phase = "backward"} {
  ^bb0(%i: index, %j: index):
    %token = memref.load %tokens[%i] : memref<5xi64>
    %row = arith.index_cast %token : i64 to index
    remat.yield %row, %j : index, index
  }
  return
}

// -----

// Whole rows of several dimensions, and of unknown length; the dimension in front of the places is shared.
// CHECK-LABEL: func.func @heads(
// CHECK-NOT: scf.parallel
// CHECK: scf.for
// CHECK: memref.subview %{{.*}}[%{{.*}}, 0, 0] [1, 8, %[[D:.*]]] [1, 1, 1]
// CHECK: memref.subview %{{.*}}[%{{.*}}, 0, 0] [1, 8, %[[D]]] [1, 1, 1]
// CHECK: linalg.generic
// CHECK-LABEL: func.func @shared(
// CHECK: scf.parallel (%[[N:.*]]) = (%c0{{.*}}) to (%c64{{.*}}) step (%c1{{.*}})
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c500
// CHECK: memref.load %{{.*}}[%[[N]], %[[I]]]
// CHECK: memref.subview %{{.*}}[%[[N]], %[[I]], 0] [1, 1, 8]
// CHECK-LABEL: func.func @computed(
// CHECK: scf.parallel (%[[N:.*]]) = (%c0{{.*}}) to (%c64{{.*}}) step (%c1{{.*}})
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c500
// CHECK: %[[AT:.*]] = arith.addi %[[N]], %[[I]]
// CHECK: memref.subview %{{.*}}[%[[N]], %[[AT]], 0] [1, 1, 8]
func.func @heads(%updates: memref<5000x8x?xf32>, %tokens: memref<5000xindex>, %table: memref<100x8x?xf32>) {
  remat.scatter_add ins(%updates : memref<5000x8x?xf32>) outs(%table : memref<100x8x?xf32>) {
  ^bb0(%i: index, %j: index, %k: index):
    %row = memref.load %tokens[%i] : memref<5000xindex>
    remat.yield %row, %j, %k : index, index, index
  }
  return
}
func.func @shared(%updates: memref<64x500x8xf32>, %tokens: memref<64x500xindex>, %table: memref<64x100x8xf32>) {
  remat.scatter_add ins(%updates : memref<64x500x8xf32>) outs(%table : memref<64x100x8xf32>) {
  ^bb0(%n: index, %i: index, %j: index):
    %row = memref.load %tokens[%n, %i] : memref<64x500xindex>
    remat.yield %n, %row, %j : index, index, index
  }
  return
}
func.func @computed(%updates: memref<64x500x8xf32>, %table: memref<64x600x8xf32>) {
  remat.scatter_add ins(%updates : memref<64x500x8xf32>) outs(%table : memref<64x600x8xf32>) {
  ^bb0(%n: index, %i: index, %j: index):
    %at = arith.addi %n, %i : index
    remat.yield %n, %at, %j : index, index, index
  }
  return
}

// -----

// Images and channels are shared, though the places depend on the image; pixels are added one by one.
// CHECK-LABEL: func.func @pixels(
// CHECK: scf.parallel (%[[N:.*]], %[[C:.*]]) = (%{{.*}}, %{{.*}}) to (%c4{{.*}}, %c16{{.*}})
// CHECK: scf.for %[[S:.*]] = %{{.*}} to %c1024
// CHECK: %[[AT:.*]] = memref.load %{{.*}}[%[[N]], %[[S]]]
// CHECK: memref.load %{{.*}}[%[[N]], %[[C]], %[[AT]]]
// CHECK: memref.load %{{.*}}[%[[N]], %[[C]], %[[S]]]
// CHECK: memref.store %{{.*}}[%[[N]], %[[C]], %[[AT]]]
func.func @pixels(%updates: memref<4x16x1024xf32>, %places: memref<4x1024xindex>, %table: memref<4x16x900xf32>) {
  remat.scatter_add ins(%updates : memref<4x16x1024xf32>) outs(%table : memref<4x16x900xf32>) {
  ^bb0(%n: index, %c: index, %s: index):
    %at = memref.load %places[%n, %s] : memref<4x1024xindex>
    remat.yield %n, %c, %at : index, index, index
  }
  return
}

// -----

// No more is shared than threads need: what is left runs in order.
// CHECK-LABEL: func.func @enough(
// CHECK: scf.parallel (%[[N:.*]]) = (%{{.*}}) to (%c64{{.*}})
// CHECK: scf.for %{{.*}} = %{{.*}} to %c16
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64
func.func @enough(%updates: memref<64x16x64xf32>, %places: memref<64xindex>, %table: memref<64x16x90xf32>) {
  remat.scatter_add ins(%updates : memref<64x16x64xf32>) outs(%table : memref<64x16x90xf32>) {
  ^bb0(%n: index, %c: index, %s: index):
    %at = memref.load %places[%s] : memref<64xindex>
    remat.yield %n, %c, %at : index, index, index
  }
  return
}

// -----

// Dimensions that stand in another order in the table are no row, but are shared.
// CHECK-LABEL: func.func @transposed(
// CHECK: scf.parallel (%[[I:.*]], %[[K:.*]]) =
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %c5
// CHECK: %[[ROW:.*]] = memref.load %{{.*}}[%[[J]]]
// CHECK: memref.load %{{.*}}[%[[K]], %[[ROW]], %[[I]]]
// CHECK: memref.load %{{.*}}[%[[I]], %[[J]], %[[K]]]
func.func @transposed(%updates: memref<4x5x?xf32>, %rows: memref<5xindex>, %table: memref<?x9x4xf32>) {
  remat.scatter_add ins(%updates : memref<4x5x?xf32>) outs(%table : memref<?x9x4xf32>) {
  ^bb0(%i: index, %j: index, %k: index):
    %row = memref.load %rows[%j] : memref<5xindex>
    remat.yield %k, %row, %i : index, index, index
  }
  return
}

// -----

// An argument that is used twice is shared once; a computed index may depend on it.
// CHECK-LABEL: func.func @diagonal(
// CHECK: scf.for %[[I:.*]] =
// CHECK: memref.load %{{.*}}[%[[I]], %[[I]]]
// CHECK: arith.addf
// CHECK: memref.store
// CHECK-LABEL: func.func @depends(
// CHECK: scf.parallel (%[[J:.*]]) = (%{{.*}}) to (%c800{{.*}})
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c500
// CHECK: %[[ROW:.*]] = memref.load %{{.*}}[%[[I]], %[[J]]]
// CHECK: memref.store %{{.*}}[%[[ROW]], %[[J]]]
// CHECK-LABEL: func.func @scalar(
// CHECK-NOT: scf.for
// CHECK: memref.store
func.func @diagonal(%updates: memref<5xf32>, %table: memref<5x5xf32>) {
  remat.scatter_add ins(%updates : memref<5xf32>) outs(%table : memref<5x5xf32>) {
  ^bb0(%i: index):
    remat.yield %i, %i : index, index
  }
  return
}
func.func @depends(%updates: memref<500x800xf32>, %rows: memref<500x800xindex>, %table: memref<9x800xf32>) {
  remat.scatter_add ins(%updates : memref<500x800xf32>) outs(%table : memref<9x800xf32>) {
  ^bb0(%i: index, %j: index):
    %row = memref.load %rows[%i, %j] : memref<500x800xindex>
    remat.yield %row, %j : index, index
  }
  return
}
func.func @scalar(%update: memref<f32>, %at: index, %table: memref<9xf32>) {
  remat.scatter_add ins(%update : memref<f32>) outs(%table : memref<9xf32>) {
    remat.yield %at : index
  }
  return
}

// -----

// Positions that are all data: threads share nothing.
// CHECK-LABEL: func.func @numbers(
// CHECK-NOT: scf.parallel
// CHECK: scf.for
func.func @numbers(%updates: memref<50000xf32>, %places: memref<50000xindex>, %table: memref<9xf32>) {
  remat.scatter_add ins(%updates : memref<50000xf32>) outs(%table : memref<9xf32>) {
  ^bb0(%i: index):
    %at = memref.load %places[%i] : memref<50000xindex>
    remat.yield %at : index
  }
  return
}

// -----

// There are no updates for rows that would not fit.
// CHECK-LABEL: func.func @rows_that_do_not_fit(
// CHECK-NOT: subview
// CHECK: memref.store
// CHECK-LABEL: func.func @rows_of_nothing(
// CHECK-NEXT: return
// CHECK-LABEL: func.func @no_updates(
// CHECK-NEXT: return
func.func @rows_that_do_not_fit(%updates: memref<?x8xf32>, %table: memref<9x4xf32>) {
  remat.scatter_add ins(%updates : memref<?x8xf32>) outs(%table : memref<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    %row = arith.addi %i, %i : index
    remat.yield %row, %j : index, index
  }
  return
}
func.func @rows_of_nothing(%updates: memref<5x?xf32>, %table: memref<9x0xf32>) {
  remat.scatter_add ins(%updates : memref<5x?xf32>) outs(%table : memref<9x0xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %i, %j : index, index
  }
  return
}
func.func @no_updates(%updates: memref<5x0xf32>, %table: memref<9x4xf32>) {
  remat.scatter_add ins(%updates : memref<5x0xf32>) outs(%table : memref<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %i, %j : index, index
  }
  return
}

// -----

// An assertion on each element cannot be made once for a row.
// CHECK-LABEL: func.func @asserted(
// CHECK: scf.for
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[IS_SMALL:.*]] = arith.cmpi ult, %[[J]],
// CHECK: cf.assert %[[IS_SMALL]]
// CHECK-NOT: subview
// CHECK: memref.store
func.func @asserted(%updates: memref<5x8xf32>, %table: memref<9x8xf32>, %n: index) {
  remat.scatter_add ins(%updates : memref<5x8xf32>) outs(%table : memref<9x8xf32>) {
  ^bb0(%i: index, %j: index):
    %is_small = arith.cmpi ult, %j, %n : index
    cf.assert %is_small, "a column is outside"
    remat.yield %i, %j : index, index
  }
  return
}
