// RUN: remat-opt %s --convert-kernels-to-nvvm | FileCheck %s

// The result of a branch that has no use there, such as the residuals of the other one.
// CHECK: llvm.func @kernel
// CHECK: llvm.mlir.poison : i64
gpu.module @kernels {
  gpu.func @kernel(%condition: i1, %value: i64, %memory: memref<1xi64>) kernel {
    %zero = arith.constant 0 : index
    %none = ub.poison : i64
    cf.cond_br %condition, ^bb1(%value : i64), ^bb1(%none : i64)
  ^bb1(%result: i64):
    memref.store %result, %memory[%zero] : memref<1xi64>
    gpu.return
  }
}
