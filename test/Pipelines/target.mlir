// RUN: not remat-opt %s -remat-train=target=tpu 2>&1 | FileCheck %s
// RUN: not remat-opt %s -remat-train=threads=-3 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: remat-opt %s -remat-train=target=cpu | FileCheck %s --check-prefix=CPU

// CHECK: unknown target 'tpu'; choose cpu or cuda
// NEGATIVE: --threads option: expects a number from 0 on, but got '-3'
// CPU: llvm.func
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
