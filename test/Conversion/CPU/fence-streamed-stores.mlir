// RUN: remat-opt %s --remat-fence-streamed-stores --split-input-file | FileCheck %s

// CHECK-LABEL: func @streamed(
// CHECK: omp.parallel
// CHECK-NEXT: omp.wsloop nowait
// CHECK: vector.store
// CHECK: llvm.fence seq_cst
// CHECK-NEXT: omp.barrier
// CHECK-NEXT: omp.terminator
func.func @streamed(%x: vector<16xf32>, %y: memref<160xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c160 = arith.constant 160 : index
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%c160) step (%c16) {
        vector.store %x, %y[%i] {alignment = 64 : i64, nontemporal = true} : memref<160xf32>, vector<16xf32>
        omp.yield
      }
    }
    omp.terminator
  }
  return
}

// -----

// CHECK-LABEL: func @ordinary(
// CHECK: omp.wsloop {
// CHECK-NOT: fence
// CHECK-NOT: omp.barrier
func.func @ordinary(%x: vector<16xf32>, %y: memref<160xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c160 = arith.constant 160 : index
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%c160) step (%c16) {
        vector.store %x, %y[%i] : memref<160xf32>, vector<16xf32>
        omp.yield
      }
    }
    omp.terminator
  }
  return
}
