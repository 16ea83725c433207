// The program is a function of the model and the options: a compiler that sees one processor writes the same one.

// RUN: remat-opt %s -remat-train -o %t.here
// RUN: %python -c "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execvp(sys.argv[1], sys.argv[1:])" \
// RUN:   remat-opt %s -remat-train | diff - %t.here
// RUN: remat-opt %s -remat-bufferize | FileCheck %s
// RUN: remat-opt %s -remat-bufferize=threads=4 | FileCheck %s --check-prefix=FOUR
// RUN: not remat-opt %s -convert-attention-to-loops=threads=-1 2>&1 | FileCheck %s --check-prefix=NONE

// Two threads' workspaces, each for 32 rows by 32 keys and two numbers for each row, and four.
// CHECK-LABEL: func.func @attend
// CHECK-SAME: memref<8704xi8> {remat.arena}
// FOUR-LABEL: func.func @attend
// FOUR-SAME: memref<17408xi8> {remat.arena}
// NONE: error: threads must be at least 1, but got -1

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

func.func @attend(%q: tensor<4x32x8xf32>, %k: tensor<4x32x8xf32>, %v: tensor<4x32x8xf32>,
                  %o: tensor<4x32x8xf32> {bufferization.writable = true}, %l: tensor<4x32xf32> {bufferization.writable = true})
    -> (tensor<4x32x8xf32>, tensor<4x32xf32>) {
  %r:2 = remat.attention ins(%q, %k, %v : tensor<4x32x8xf32>, tensor<4x32x8xf32>, tensor<4x32x8xf32>)
      outs(%o, %l : tensor<4x32x8xf32>, tensor<4x32xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<4x32x8xf32>, tensor<4x32xf32>
  return %r#0, %r#1 : tensor<4x32x8xf32>, tensor<4x32xf32>
}
