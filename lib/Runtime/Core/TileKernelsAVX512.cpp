//===- TileKernelsAVX512.cpp - For 32 registers of 64 bytes ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define REMAT_TILES tilesAVX512
#define REMAT_TILE_SHAPES                                                      \
  X(6, 4, 64) X(8, 3, 64) X(12, 2, 64) X(12, 1, 64) X(12, 1, 32) X(12, 1, 16)
#include "TileKernels.inc"
