//===- TileKernelsArmFMA.cpp - For processors of 32 bits with VFPv4 -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define REMAT_TILES tilesArmFMA
#define REMAT_TILE_SHAPES X(4, 3, 16) X(6, 2, 16) X(8, 1, 16)
#include "TileKernels.inc"
