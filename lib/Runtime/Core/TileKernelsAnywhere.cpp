//===- TileKernelsAnywhere.cpp - For 16 registers of 16 bytes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every processor that the compiler knows.
//===----------------------------------------------------------------------===//

#define REMAT_TILES tilesAnywhere
#define REMAT_TILE_SHAPES X(4, 3, 16) X(6, 2, 16) X(8, 1, 16)
#include "TileKernels.inc"
