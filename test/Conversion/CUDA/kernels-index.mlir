// RUN: remat-opt %s --convert-kernels-to-nvvm | FileCheck %s

// Operations of the index dialect become those of 64 bits, as on the CPU.
// CHECK: llvm.func @kernel
// CHECK-DAG: llvm.mlir.constant(1 : i64)
// CHECK-DAG: llvm.intr.smax
// CHECK-NOT: index.
gpu.module @kernels {
  gpu.func @kernel(%n: i32, %memory: memref<8xi64>) kernel {
    %i = index.casts %n : i32 to index
    %one = index.constant 1
    %less = index.sub %i, %one
    %place = index.maxs %less, %one
    %value = index.casts %place : index to i64
    memref.store %value, %memory[%place] : memref<8xi64>
    gpu.return
  }
}
