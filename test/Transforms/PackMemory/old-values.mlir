// RUN: remat-opt %s -remat-results-to-out-params | FileCheck %s

// Results that are arguments, of a function that says which results are new
// values of arguments: old values, copied before those are overwritten.

// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[W:.*]]: memref<4xf32>, %[[X:.*]]: memref<4xf32>, %[[OLD:.*]]: memref<4xf32> {remat.loss, remat.result = 0 : i64}, %[[SAME:.*]]: memref<4xf32> {remat.result = 2 : i64})
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy %[[W]], %[[OLD]]
// CHECK: memref.copy %[[X]], %[[SAME]]
// CHECK: memref.copy %[[NEW]], %[[W]]
// CHECK: return
func.func @step(%w: memref<4xf32>, %x: memref<4xf32>)
    -> (memref<4xf32> {remat.loss}, memref<4xf32> {remat.updates = 0 : i64}, memref<4xf32>) {
  %new = memref.alloc() : memref<4xf32>
  linalg.exp ins(%w : memref<4xf32>) outs(%new : memref<4xf32>)
  return %w, %new, %x : memref<4xf32>, memref<4xf32>, memref<4xf32>
}
