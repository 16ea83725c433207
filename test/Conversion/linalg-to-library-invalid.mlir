// RUN: remat-opt %s -convert-linalg-to-library -verify-diagnostics

func.func @two_calls_would_round_twice(%a: memref<8x4x5xbf16>, %b: memref<5x4x6xbf16>, %c: memref<8x6xbf16>) {
  // expected-error @below {{is rounded after each term, for it is no product of the library; run remat-split-rounded-products before bufferization}}
  linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (l, k, n)>, affine_map<(m, n, k, l) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<8x4x5xbf16>, memref<5x4x6xbf16>) outs(%c : memref<8x6xbf16>) attrs = {remat.order = "rounded product"} {
  ^bb0(%x: bf16, %y: bf16, %s: bf16):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %w = arith.extf %s : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %w, %t : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  }
  return
}
