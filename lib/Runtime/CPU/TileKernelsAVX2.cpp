//===- TileKernelsAVX2.cpp - For 16 registers of 32 bytes -----------------===//

#define REMAT_TILES addTilesAVX2
#define REMAT_VECTOR_BYTES 32
#define REMAT_TILE_SHAPES X(4, 3) X(6, 2) X(8, 1)
#include "TileKernels.inc"
