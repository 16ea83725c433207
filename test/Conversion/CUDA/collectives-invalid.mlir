// RUN: remat-opt %s --remat-lower-to-cuda -verify-diagnostics

func.func @on_cuda(%x: memref<4xf32>) {
  // expected-error @+1 {{collectives are not lowered for target=cuda}}
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}
