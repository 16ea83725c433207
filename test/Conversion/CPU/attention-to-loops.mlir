// RUN: remat-opt %s --convert-attention-to-loops="threads=3" --canonicalize --cse --split-input-file | FileCheck %s

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// Workers claim tiles, the last one first: those see most keys.
// Causal: a tile multiplies by the keys that its last row sees. Two that are alike share a function; each call has memory for
// three tiles.
// CHECK-LABEL: func.func @causal(
// CHECK: memref.alloc() {remat.workspace} : memref<3x128x512xf32>
// CHECK: call @attention(
// CHECK: call @attention(
// CHECK-LABEL: func.func private @attention(
// CHECK: %[[LEFT:.*]] = memref.alloca() : memref<i64>
// CHECK: memref.store %c16_i64, %[[LEFT]][]
// CHECK: scf.parallel (%[[T:.*]]) = (%{{.*}}) to (%c3) step (%{{.*}})
// CHECK: scf.while
// CHECK: %[[CLAIMED:.*]] = memref.atomic_rmw addi %c-1_i64, %[[LEFT]][] : (i64, memref<i64>) -> i64
// CHECK: %[[EXISTS:.*]] = arith.cmpi sgt, %[[CLAIMED]], %c0_i64
// CHECK: scf.condition(%[[EXISTS]]) %[[CLAIMED]]
// CHECK: ^bb0(%[[NUMBER:.*]]: i64):
// CHECK: arith.addi %[[NUMBER]], %c-1_i64
// CHECK: %[[KEYS:.*]] = affine.min #{{.*}}()[%{{.*}}]
// CHECK: memref.subview %{{.*}}[%[[T]], 0, 0] [1, 128, %{{.*}}] [1, 1, 1] : memref<3x128x512xf32>
// CHECK: linalg.fill
// CHECK: arith.mulf
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: math.log
// CHECK: arith.divf
func.func @causal(%q: memref<4x512x64xf32>, %k: memref<4x512x64xf32>, %v: memref<4x512x64xf32>, %o: memref<4x512x64xf32>,
                  %o2: memref<4x512x64xf32>, %l: memref<4x512xf32>) {
  %low = arith.constant 0xFF800000 : f32
  remat.attention ins(%q, %k, %v : memref<4x512x64xf32>, memref<4x512x64xf32>, memref<4x512x64xf32>)
      outs(%o, %l : memref<4x512x64xf32>, memref<4x512xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    %seen = arith.cmpi ule, %n, %m : index
    %t = arith.select %seen, %s, %low : f32
    remat.yield %t : f32
  }
  remat.attention ins(%q, %k, %v : memref<4x512x64xf32>, memref<4x512x64xf32>, memref<4x512x64xf32>)
      outs(%o2, %l : memref<4x512x64xf32>, memref<4x512xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    %seen = arith.cmpi ule, %n, %m : index
    %t = arith.select %seen, %s, %low : f32
    remat.yield %t : f32
  }
  return
}

// -----

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (n, d)>
#v = affine_map<(h, m, n, d, v) -> (n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// Heads that share keys add to the same gradients: they run in order, and so do tiles.
// CHECK-LABEL: func.func private @attention_backward(
// CHECK-NOT: scf.parallel
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c200 step %c112
// CHECK: linalg.generic
func.func @shared_keys(%q: memref<4x200x8xf32>, %k: memref<70x8xf32>, %v: memref<70x6xf32>, %dy: memref<4x200x6xf32>,
                       %sum: memref<4x200xf32>, %delta: memref<4x200xf32>, %dq: memref<4x200x8xf32>, %dk: memref<70x8xf32>,
                       %dv: memref<70x6xf32>) {
  remat.attention_backward ins(%q, %k, %v : memref<4x200x8xf32>, memref<70x8xf32>, memref<70x6xf32>)
      cotangent(%dy, %sum, %delta : memref<4x200x6xf32>, memref<4x200xf32>, memref<4x200xf32>)
      outs(%dq, %dk, %dv : memref<4x200x8xf32>, memref<70x8xf32>, memref<70x6xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l], differentiated = array<i64>} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32, %a: f32, %b: f32, %g: f32):
    %x = arith.subf %s, %a : f32
    %p = math.exp %x : f32
    %c = arith.subf %g, %b : f32
    %ds = arith.mulf %p, %c : f32
    remat.yield %ds, %p : f32, f32
  }
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>

// A result of bf16 is rounded when all of it is added up.
// CHECK-LABEL: func.func @rounded(
// CHECK: call @attention(
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<9x8xf32>) outs(%arg3 : memref<9x8xbf16>)
// CHECK: arith.truncf
func.func @rounded(%q: memref<9x8xbf16>, %k: memref<9x8xbf16>, %v: memref<9x8xbf16>, %o: memref<9x8xbf16>, %l: memref<9xf32>) {
  remat.attention ins(%q, %k, %v : memref<9x8xbf16>, memref<9x8xbf16>, memref<9x8xbf16>)
      outs(%o, %l : memref<9x8xbf16>, memref<9xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
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

// No query, no tile.
// CHECK-LABEL: func.func @no_rows(
// CHECK: call @attention(
func.func @no_rows(%q: memref<0x4xf32>, %k: memref<9x4xf32>, %v: memref<9x4xf32>, %o: memref<0x4xf32>, %l: memref<0xf32>) {
  remat.attention ins(%q, %k, %v : memref<0x4xf32>, memref<9x4xf32>, memref<9x4xf32>)
      outs(%o, %l : memref<0x4xf32>, memref<0xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}
