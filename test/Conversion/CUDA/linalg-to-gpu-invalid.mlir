// RUN: not remat-opt %s --convert-linalg-to-gpu-kernels=block-size=48 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not remat-opt %s --convert-linalg-to-gpu-kernels=block-size=16 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not remat-opt %s --convert-linalg-to-gpu-kernels=block-size=2048 2>&1 | FileCheck %s --check-prefix=LARGE

// POWER: error: 'block-size' must be a power of two from 32 to 1024, but got 48
// SMALL: error: 'block-size' must be a power of two from 32 to 1024, but got 16
// LARGE: error: 'block-size' must be a power of two from 32 to 1024, but got 2048
func.func @copy(%x: memref<4xf32>, %y: memref<4xf32>) {
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}
