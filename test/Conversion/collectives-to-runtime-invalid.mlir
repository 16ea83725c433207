// RUN: remat-opt %s --convert-collectives-to-runtime -split-input-file -verify-diagnostics

func.func @on_tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is on tensors, but only collectives on memrefs are calls of the runtime}}
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @columns(%x: memref<4x2xf32, strided<[3, 1]>>, %y: memref<4x4xf32>) {
  // expected-error @+1 {{exchanges memory that is not contiguous, operand #0 of type 'memref<4x2xf32, strided<[3, 1]>>'; remat-pack-products copies it}}
  remat.all_gather dim(1) {size = 2 : i64, stride = 1 : i64} ins(%x : memref<4x2xf32, strided<[3, 1]>>) outs(%y : memref<4x4xf32>)
  return
}
