// The result of the passes is verified once, if not after each of them: this
// lowers the body of an operation on tensors that nothing lowers.
// RUN: env REMAT_VERIFY_EACH=0 not remat-opt %s -convert-arith-to-llvm 2>&1 | FileCheck %s
// RUN: env REMAT_VERIFY_EACH= not remat-opt %s -convert-arith-to-llvm 2>&1 | FileCheck %s
// RUN: env REMAT_VERIFY_EACH=1 not remat-opt %s -convert-arith-to-llvm 2>&1 | FileCheck %s
// RUN: env REMAT_VERIFY_EACH=0 not remat-opt %s -convert-arith-to-llvm -symbol-dce -o %t.mlir 2>&1 | FileCheck %s
// RUN: not ls %t.mlir

// CHECK: verify-result.mlir:[[# @LINE + 3]]:8: error: expected add/mul op in the body
// CHECK-NOT: "linalg.matmul"
func.func @product(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
