// RUN: not remat-opt %s -remat-annotate="ops=softmax" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s -remat-annotate="ops=norm" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s -remat-annotate="ops=reduction" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: remat-opt %s -remat-print-operations -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIST

// Kinds are kinds of tensors: operations on buffers have no results to follow.
// NONE: error: ops={{.*}} matches no operation in @buffers
// LIST: [
// LIST-NEXT: ]
func.func @buffers(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %s: memref<4xf32>) {
  linalg.exp ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  linalg.reduce ins(%y : memref<4x8xf32>) outs(%s : memref<4xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  linalg.rsqrt ins(%s : memref<4xf32>) outs(%s : memref<4xf32>)
  return
}
