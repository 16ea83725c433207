// RUN: remat-opt %s --remat-pack-products | FileCheck %s

// Rows of a matrix stay where they are, columns are copied, before and after.
// CHECK-LABEL: func.func @columns_are_copied(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: {{.*}}, %[[COLUMNS:[a-z0-9]+]]: {{.*}}, %[[OUT:[a-z0-9]+]]: memref
// CHECK: %[[IN:.*]] = memref.alloc() : memref<4x2xf32>
// CHECK: memref.copy %[[COLUMNS]], %[[IN]]
// CHECK: %[[RESULT:.*]] = memref.alloc() : memref<4x2xf32>
// CHECK-NOT: memref.copy
// CHECK: remat.all_reduce sum {{.*}} ins(%[[ROWS]], %[[IN]] : {{.*}}) outs(%[[RESULT]] : memref<4x2xf32>)
// CHECK-NEXT: memref.copy %[[RESULT]], %[[OUT]]
// CHECK-NEXT: return
func.func @columns_are_copied(%rows: memref<4x2xf32, strided<[2, 1], offset: 6>>, %columns: memref<4x2xf32, strided<[8, 1]>>, %out: memref<4x2xf32, strided<[1, 4]>>) {
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%rows, %columns : memref<4x2xf32, strided<[2, 1], offset: 6>>, memref<4x2xf32, strided<[8, 1]>>) outs(%out : memref<4x2xf32, strided<[1, 4]>>)
  return
}

// One row of a matrix is contiguous, whatever the distance to the next one.
// CHECK-LABEL: func.func @one_row(
// CHECK-NOT: memref.alloc
// CHECK: remat.all_gather
func.func @one_row(%row: memref<1x4xf32, strided<[100, 1], offset: ?>>, %out: memref<2x4xf32>) {
  remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%row : memref<1x4xf32, strided<[100, 1], offset: ?>>) outs(%out : memref<2x4xf32>)
  return
}
