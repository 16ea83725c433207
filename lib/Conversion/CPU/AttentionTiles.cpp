//===- AttentionTiles.cpp - Tiles of rows of an attention -----------------===//

#include "AttentionTiles.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

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

std::optional<std::pair<Value, unsigned>>
remat::findLoop(ArrayRef<Indexed> operands, unsigned loop) {
  std::optional<std::pair<Value, unsigned>> found;
  for (const Indexed &operand : operands) {
    MLIRContext *context = operand.map.getContext();
    std::optional<unsigned> dim =
        operand.map.getResultPosition(getAffineDimExpr(loop, context));
    if (!dim)
      continue;
    if (!cast<ShapedType>(operand.value.getType()).isDynamicDim(*dim))
      return std::pair(operand.value, *dim);
    if (!found)
      found = {operand.value, *dim};
  }
  return found;
}

int64_t remat::getStaticSize(ArrayRef<Indexed> operands, unsigned loop) {
  auto found = findLoop(operands, loop);
  return found ? cast<ShapedType>(found->first.getType())
                     .getDimSize(found->second)
               : ShapedType::kDynamic;
}

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
  int64_t bytes = sumType.getIntOrFloatBitWidth() / 8 * numTiles;
  plan.tileRows =
      ShapedType::isDynamic(keys)
          ? kDefaultRows
          : std::clamp(
                llvm::alignDown(kTileBytes / std::max<int64_t>(bytes * keys, 1),
                                kRowMultiple),
                uint64_t(kLeastRows), uint64_t(kMostRows));
  // Even tiles.
  if (!ShapedType::isDynamic(rows)) {
    int64_t count = std::max<int64_t>(1, llvm::divideCeil(rows, plan.tileRows));
    plan.tileRows = std::min<int64_t>(
        std::max<int64_t>(rows, 1),
        llvm::alignTo(llvm::divideCeil(rows, count), kRowMultiple));
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

std::pair<OpFoldResult, OpFoldResult>
remat::findKeyRange(OpBuilder &b, Location loc, const VisibleKeys &visible,
                    Value start, OpFoldResult rows, OpFoldResult numKeys) {
  OpFoldResult zero = b.getIndexAttr(0);
  if (visible.lower.empty() && visible.upper.empty())
    return {zero, numKeys};
  AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0),
             s1 = b.getAffineSymbolExpr(1);
  // Of the first row, the number of rows and of keys.
  SmallVector<AffineExpr> ends{s1}, starts{b.getAffineConstantExpr(0)};
  for (KeyBound bound : visible.upper)
    ends.push_back(
        ((d0 + s0 - 1) * bound.slope + bound.offset + 1).ceilDiv(kRowMultiple) *
        kRowMultiple);
  for (KeyBound bound : visible.lower)
    starts.push_back((d0 * bound.slope + bound.offset).floorDiv(kRowMultiple) *
                     kRowMultiple);
  SmallVector<OpFoldResult> operands{OpFoldResult(start), rows, numKeys};
  auto mapTo = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(1, 2, exprs, b.getContext());
  };
  OpFoldResult end =
      affine::makeComposedFoldedAffineMin(b, loc, mapTo(ends), operands);
  OpFoldResult first =
      affine::makeComposedFoldedAffineMax(b, loc, mapTo(starts), operands);
  // At least no key, and none beyond the last.
  AffineMap both = AffineMap::get(0, 2, {s0, s1}, b.getContext());
  end = affine::makeComposedFoldedAffineMax(b, loc, both, {end, zero});
  first = affine::makeComposedFoldedAffineMin(b, loc, both, {first, end});
  return {first,
          affine::makeComposedFoldedAffineApply(b, loc, s0 - s1, {end, first})};
}
