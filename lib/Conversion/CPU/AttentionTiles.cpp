//===- AttentionTiles.cpp - Tiles of rows of an attention -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionTiles.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

using namespace mlir;
using namespace mlir::remat;

/// Of the tiles that a thread works on: about half of a core's second cache.
static constexpr int64_t kTileBytes = 1 << 19;
/// Products of fewer rows pack more than they compute; more than the most would
/// leave too few tiles for threads.
static constexpr int64_t kLeastRows = 32, kMostRows = 128;
/// Rows for an unknown number of keys.
static constexpr int64_t kDefaultRows = 64;
/// Operands but those of scores: query, key, value, and two of the result.
static constexpr size_t kNumFixedOperands = 5;

TilePlan remat::planTiles(ArrayRef<Indexed> operands, const AttentionDims &dims,
                          Block &body, Type sumType, Value modifiedScore,
                          int64_t numTiles, ArrayRef<AffineMap> outputs) {
  TilePlan plan;
  // Rows of one set of keys make a product.
  int64_t best = -1;
  for (unsigned row : dims.rows) {
    bool isBatch = operands[1].map.isFunctionOfDim(row) ||
                   operands[2].map.isFunctionOfDim(row);
    int64_t size = getStaticSize(operands, row);
    int64_t score = isBatch                       ? 0
                    : ShapedType::isDynamic(size) ? kSizeLimit
                                                  : size;
    if (score >= best) {
      best = score;
      plan.tileLoop = row;
    }
  }
  int64_t keys = getStaticSize(operands, dims.key),
          rows = getStaticSize(operands, plan.tileLoop);
  int64_t rowBytes = std::max<int64_t>(
      multiplySizes({keys}, sumType.getIntOrFloatBitWidth() / 8 * numTiles), 1);
  plan.tileRows =
      ShapedType::isDynamic(keys)
          ? kDefaultRows
          : std::clamp(llvm::alignDown(kTileBytes / rowBytes, kRowMultiple),
                       uint64_t(kLeastRows), uint64_t(kMostRows));
  // Even tiles.
  if (!ShapedType::isDynamic(rows)) {
    int64_t count = std::max<int64_t>(1, llvm::divideCeil(rows, plan.tileRows));
    plan.tileRows = std::min<int64_t>(
        std::max<int64_t>(rows, 1),
        llvm::alignTo(std::max<int64_t>(llvm::divideCeil(rows, count), 1),
                      kRowMultiple));
  }
  auto isOwned = [&](unsigned loop) {
    return llvm::all_of(
        outputs, [&](AffineMap map) { return map.isFunctionOfDim(loop); });
  };
  plan.distributesTiles = isOwned(plan.tileLoop);
  SmallVector<unsigned> scoreDims = dims.getScoreDims();
  auto getIndex = [&](unsigned loop) -> Value {
    return body.getArgument(llvm::find(scoreDims, loop) - scoreDims.begin());
  };
  bool hasKeyOfRow = !ShapedType::isDynamic(rows) &&
                     !ShapedType::isDynamic(keys) && rows <= keys;
  if (modifiedScore)
    plan.visible = findVisibleKeys(
        modifiedScore, getIndex(plan.tileLoop), getIndex(dims.key),
        hasKeyOfRow && operands.size() == kNumFixedOperands);
  for (unsigned row : dims.rows)
    if (row != plan.tileLoop)
      (isOwned(row) ? plan.parallel : plan.sequential).push_back(row);
  return plan;
}
