// RUN: remat-opt %s --pass-pipeline="builtin.module(gpu.module(convert-kernels-to-nvvm))" | FileCheck %s

// ptxas gives the threads of a large block 32 registers, and spills, unless one block is enough.
gpu.module @kernels {
  // CHECK: llvm.func @large(){{.*}}nvvm.maxntid = array<i32: 1024, 1, 1>, nvvm.minctasm = 1 : i32
  gpu.func @large() kernel attributes {known_block_size = array<i32: 1024, 1, 1>} {
    gpu.return
  }
  // CHECK: llvm.func @small(){{.*}}nvvm.maxntid = array<i32: 256, 1, 1>}
  gpu.func @small() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    gpu.return
  }
}
