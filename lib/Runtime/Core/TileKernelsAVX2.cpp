//===- TileKernelsAVX2.cpp - For 16 registers of 32 bytes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define REMAT_TILES tilesAVX2
#define REMAT_TILE_SHAPES X(4, 3, 32) X(6, 2, 32) X(8, 1, 32) X(8, 1, 16)
#include "TileKernels.inc"
