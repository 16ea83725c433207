// RUN: remat-opt %s --convert-collectives-to-runtime -canonicalize -split-input-file | FileCheck %s

// CHECK: func.func private @remat_rank(i64, i64) -> i64
// CHECK-LABEL: func.func @coordinate(
// CHECK-DAG: %[[STRIDE:.*]] = arith.constant 3 : i64
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 2 : i64
// CHECK: %[[RANK:.*]] = call @remat_rank(%[[STRIDE]], %[[SIZE]])
// CHECK: arith.index_cast %[[RANK]]
func.func @coordinate() -> index {
  %0 = remat.rank {size = 2 : i64, stride = 3 : i64} : index
  return %0 : index
}

// -----

// CHECK: func.func private @remat_all_reduce(i64, i64, i64, i64, i64, i64, i64, i64)
// CHECK-LABEL: func.func @parts_are_passed_in_an_array(
// CHECK-SAME: %[[X:.*]]: memref<8x4xbf16>, %[[Y:.*]]: memref<8x4xbf16>, %[[Z:.*]]: memref<8x4xbf16>
// The kind, minnum, is number 5; bf16 is 3.
// CHECK-DAG: %[[KIND:.*]] = arith.constant 5 : i64
// CHECK-DAG: %[[TYPE:.*]] = arith.constant 3 : i64
// CHECK-DAG: %[[STRIDE:.*]] = arith.constant 1 : i64
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 32 : i64
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[PARTS:.*]] = memref.alloca() : memref<2xi64>
// CHECK: %[[INDEX:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: %[[ADDRESS:.*]] = arith.index_cast %[[INDEX]]
// CHECK: memref.store %[[ADDRESS]], %[[PARTS]][%[[C0]]]
// CHECK: memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK: memref.store %{{.*}}, %[[PARTS]][%[[C1]]]
// CHECK: memref.extract_aligned_pointer_as_index %[[PARTS]]
// CHECK: memref.extract_aligned_pointer_as_index %[[Z]]
// CHECK: call @remat_all_reduce(%[[KIND]], %[[TYPE]], %[[STRIDE]], %[[TWO]], %{{.*}}, %[[TWO]], %{{.*}}, %[[COUNT]]) {remat.phase = "backward"}
func.func @parts_are_passed_in_an_array(%x: memref<8x4xbf16>, %y: memref<8x4xbf16>, %z: memref<8x4xbf16>) {
  remat.all_reduce minnum {size = 2 : i64, stride = 1 : i64, remat.phase = "backward"} ins(%x, %y : memref<8x4xbf16>, memref<8x4xbf16>) outs(%z : memref<8x4xbf16>)
  return
}

// -----

// Elements are 5 x n, and the array of the parts is on the stack once.
// CHECK-LABEL: func.func @in_a_loop(
// CHECK: memref.alloca() : memref<1xi64>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: %[[DIM:.*]] = memref.dim
// CHECK: %[[N:.*]] = arith.index_cast %[[DIM]]
// CHECK: %[[COUNT:.*]] = arith.muli %[[N]], %c5_i64
// CHECK: call @remat_all_reduce({{.*}}, %[[COUNT]])
func.func @in_a_loop(%x: memref<5x?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : memref<5x?xf64>) outs(%x : memref<5x?xf64>)
  }
  return
}

// -----

// Rows of an input are what comes after the dimension, and that itself: three of 5 x 2 x 4 bytes.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.*]]: memref<3x5x2xf32, strided<[10, 2, 1], offset: 30>>
// CHECK-DAG: %[[STRIDE:.*]] = arith.constant 2 : i64
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 3 : i64
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 4 : i64
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 40 : i64
// The offset, in bytes.
// CHECK-DAG: %[[OFFSET:.*]] = arith.constant 120 : i64
// CHECK: %[[BASE:.*]] = arith.index_cast
// CHECK: %[[FROM:.*]] = arith.addi %[[BASE]], %[[OFFSET]]
// CHECK: call @remat_all_gather(%[[STRIDE]], %[[SIZE]], %[[ROWS]], %[[BYTES]], %[[FROM]], %{{.*}})
func.func @rows(%x: memref<3x5x2xf32, strided<[10, 2, 1], offset: 30>>, %y: memref<3x20x2xf32>) {
  remat.all_gather dim(1) {size = 4 : i64, stride = 2 : i64} ins(%x : memref<3x5x2xf32, strided<[10, 2, 1], offset: 30>>) outs(%y : memref<3x20x2xf32>)
  return
}
