// RUN: not remat-opt %s --remat-tile-loss-heads="tile-bytes=0" 2>&1 | FileCheck %s
// CHECK: tile-loss-heads-invalid.mlir{{.*}}error: tile-bytes must be positive, and threshold at least 0, but they are 0 and 0
module {}
