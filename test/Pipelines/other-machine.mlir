// The program is a function of the model and the options: a compiler that sees one processor writes the same one.

// RUN: remat-opt %s -remat-train -o %t.here
// RUN: %python -c "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execvp(sys.argv[1], sys.argv[1:])" \
// RUN:   remat-opt %s -remat-train | diff - %t.here
// RUN: remat-opt %s -remat-bufferize | FileCheck %s
// RUN: remat-opt %s -remat-bufferize=threads=4 | FileCheck %s --check-prefix=FOUR
// RUN: not remat-opt %s -convert-conv-to-library=threads=0 2>&1 | FileCheck %s --check-prefix=NONE

// Two threads' workspaces, each for 64 positions of 9 x 8 elements, and four.
// CHECK-LABEL: func.func @conv
// CHECK-SAME: memref<36864xi8> {remat.arena}
// FOUR-LABEL: func.func @conv
// FOUR-SAME: memref<73728xi8> {remat.arena}
// NONE: error: threads must be at least 1, but got 0

func.func @conv(%x: tensor<4x16x16x8xf32>, %w: tensor<3x3x8x8xf32>, %y: tensor<4x16x16x8xf32> {bufferization.writable = true})
    -> tensor<4x16x16x8xf32> {
  %r = remat.conv_2d ins(%x, %w : tensor<4x16x16x8xf32>, tensor<3x3x8x8xf32>) outs(%y : tensor<4x16x16x8xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<4x16x16x8xf32>
  return %r : tensor<4x16x16x8xf32>
}
