//===- AttentionTiles.h - Tiles of rows of an attention ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CPU_ATTENTIONTILES_H
#define REMAT_LIB_CONVERSION_CPU_ATTENTIONTILES_H

#include "../AttentionMask.h"
#include "../AttentionParts.h"

namespace mlir::remat {

/// The unit of rows in a tile and of keys that it visits: whole vectors.
constexpr int64_t kRowMultiple = 16;

/// Which loops are cut into tiles, given to threads, and run in order.
struct TilePlan {
  unsigned tileLoop = 0;
  int64_t tileRows = 0;
  /// True if threads take single tiles.
  bool distributesTiles = false;
  SmallVector<unsigned> parallel, sequential;
  /// By the rows of the tile loop.
  VisibleKeys visible;
};

/// How the attention, or its backward, with these `operands` and `body` is cut.
/// `modifiedScore` is the value of the body that the softmax reads, null if
/// unknown; `numTiles` how many buffers of a tile's scores are in use at once;
/// `outputs` maps of what is written: only loops that index all of them go to
/// threads.
TilePlan planTiles(ArrayRef<Indexed> operands, const AttentionDims &dims,
                   Block &body, Type sumType, Value modifiedScore,
                   int64_t numTiles, ArrayRef<AffineMap> outputs);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CPU_ATTENTIONTILES_H
