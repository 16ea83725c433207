// RUN: not remat-opt %s --remat-tile-loss-heads="tile-bytes=-1" 2>&1 | FileCheck %s
// CHECK: tile-loss-heads-invalid.mlir{{.*}}error: tile-bytes and threshold must be at least 0, and rows positive, but they are -1, 0 and 128
// RUN: not remat-opt %s --remat-tile-loss-heads="rows=0" 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: but they are 0, 0 and 0
module {}
// RUN: not remat-opt %s --remat-train="loss-tile=-7" 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: error: tile-bytes and threshold must be at least 0, and rows positive, but they are -7,
