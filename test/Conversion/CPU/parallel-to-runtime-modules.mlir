// RUN: remat-opt %s --convert-parallel-to-runtime | FileCheck %s

// The function is where the loop's own function is.
// CHECK: module @inner
// CHECK: func.func private @remat_parallel_for(
// CHECK: func.func @fill(
// CHECK: func.func private @fill_part(
module {
  module @inner {
    func.func @fill(%y: memref<?xf32>, %n: index, %v: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        memref.store %v, %y[%i] : memref<?xf32>
      }
      return
    }
  }
}
