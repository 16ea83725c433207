// RUN: remat-opt %s --convert-attention-to-gpu-kernels --split-input-file --verify-diagnostics

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>

func.func @depth(%q: memref<9x?xf32>, %k: memref<9x?xf32>, %v: memref<9x4xf32>, %o: memref<9x4xf32>, %l: memref<9xf32>) {
  // expected-error@+2 {{'remat.attention' op has no kernel for a GPU: the size of a head is not known}}
  // expected-note@+1 {{convert-linalg-aggregates-to-structured makes products and a softmax of it, on tensors}}
  remat.attention ins(%q, %k, %v : memref<9x?xf32>, memref<9x?xf32>, memref<9x4xf32>)
      outs(%o, %l : memref<9x4xf32>, memref<9xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>

func.func @large(%q: memref<9x1024xf32>, %k: memref<9x1024xf32>, %v: memref<9x4xf32>, %o: memref<9x4xf32>, %l: memref<9xf32>) {
  // expected-error@+2 {{has no kernel for a GPU: heads of 1024 and 4 elements are too large}}
  // expected-note@+1 {{convert-linalg-aggregates-to-structured}}
  remat.attention ins(%q, %k, %v : memref<9x1024xf32>, memref<9x1024xf32>, memref<9x4xf32>)
      outs(%o, %l : memref<9x4xf32>, memref<9xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}
