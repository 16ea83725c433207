// RUN: not remat-opt %s --remat-tile-updates="tile-bytes=-1" 2>&1 | FileCheck %s
// CHECK: tile-updates-invalid.mlir{{.*}}error: tile-bytes must be at least 0, and tile-length positive, but they are -1 and 512
// RUN: not remat-opt %s --remat-tile-updates="tile-bytes=0 tile-length=0" 2>&1 | FileCheck %s --check-prefix=LENGTH
// LENGTH: but they are 0 and 0
module {}
