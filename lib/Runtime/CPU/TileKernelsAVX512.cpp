//===- TileKernelsAVX512.cpp - For 32 registers of 64 bytes ---------------===//

#define REMAT_TILES addTilesAVX512
#define REMAT_VECTOR_BYTES 64
#define REMAT_TILE_SHAPES X(6, 4) X(8, 3) X(12, 2) X(8, 1)
#include "TileKernels.inc"
