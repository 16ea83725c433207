// RUN: remat-opt %s --convert-linalg-aggregates-to-structured --verify-diagnostics --split-input-file

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @attention_on_buffers(%q: memref<8x4xf32>, %k: memref<8x4xf32>, %v: memref<8x4xf32>, %o: memref<8x4xf32>,
                                %l: memref<8xf32>) {
  // expected-error @below {{can be expanded into structured operations on tensors only; do so before bufferization}}
  remat.attention ins(%q, %k, %v : memref<8x4xf32>, memref<8x4xf32>, memref<8x4xf32>)
      outs(%o, %l : memref<8x4xf32>, memref<8xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}

// -----

func.func @softmax_on_buffers(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{can be expanded into structured operations on tensors only; do so before bufferization}}
  linalg.softmax dimension(1) ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  return
}
