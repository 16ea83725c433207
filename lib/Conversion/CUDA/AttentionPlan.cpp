//===- AttentionPlan.cpp - Tiles of an attention on a GPU -----------------===//

#include "AttentionPlan.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

using namespace mlir;
using namespace mlir::remat;

/// Bytes of workgroup memory that every chip gives a block without asking.
static constexpr int64_t kWorkgroupBytes = 48 << 10;
/// Registers of a thread, of 4 bytes, for sums that it keeps.
static constexpr int64_t kSumRegisters = 64;
/// Queries and keys of tiles, the most first.
static constexpr ScoreTile kForwardTiles[] = {
    {64, 32}, {32, 32}, {32, 16}, {16, 16}, {16, 8}};
static constexpr ScoreTile kBackwardTiles[] = {
    {32, 32}, {32, 16}, {16, 32}, {16, 16}};

int64_t remat::getScoreStride(int64_t columns, int64_t perVector) {
  return columns + perVector;
}

/// Registers for a thread's part of the sums in `rows` rows of a tile.
static int64_t countSums(int64_t rows, TileWidth width, int64_t perVector,
                         int64_t bytes) {
  int64_t vectors = llvm::divideCeil(width.padded, perVector * kLanes);
  return rows / kSlots * vectors * perVector * bytes / 4;
}

template <typename Fits>
static std::optional<ScoreTile> chooseTile(ArrayRef<ScoreTile> tiles,
                                           Fits fits) {
  const auto *found = llvm::find_if(tiles, fits);
  return found == tiles.end() ? std::nullopt : std::optional(*found);
}

/// Rows, columns and the loop of queries; fails as `planAttention` does.
template <typename Op>
static FailureOr<AttentionPlan> planLoops(Op op, Value modifiedScore,
                                          std::string &reason) {
  AttentionPlan plan;
  plan.dims = op.getDims();
  SmallVector<Indexed> operands = getIndexedOperands(op);
  AffineMap query = op.getMap(0), key = op.getMap(1), value = op.getMap(2);
  auto multiply = [&](ArrayRef<unsigned> loops) {
    int64_t size = 1;
    for (unsigned loop : loops) {
      int64_t factor = getStaticSize(operands, loop);
      size = ShapedType::isDynamic(factor) || ShapedType::isDynamic(size)
                 ? ShapedType::kDynamic
                 : size * factor;
    }
    return size;
  };
  int64_t depth = multiply(plan.dims.depth),
          columns = multiply(plan.dims.columns);
  if (ShapedType::isDynamic(depth) || ShapedType::isDynamic(columns)) {
    reason = "the size of a head is not known";
    return failure();
  }
  if (depth == 0 || columns == 0) {
    reason = "a head has no elements";
    return failure();
  }
  int64_t bytes = op.getSumType().getWidth() / 8;
  plan.perVector = kVectorBytes / bytes;
  plan.depth = TileWidth(depth, plan.perVector);
  plan.columns = TileWidth(columns, plan.perVector);

  // Most rows of one set of keys.
  plan.queryLoop = query.getNumDims();
  int64_t most = -1;
  for (unsigned row : plan.dims.rows) {
    if (key.isFunctionOfDim(row) != value.isFunctionOfDim(row)) {
      reason = "keys and values have different batches";
      return failure();
    }
    if (key.isFunctionOfDim(row) || !query.isFunctionOfDim(row))
      continue;
    int64_t size = getStaticSize(operands, row);
    if (ShapedType::isDynamic(size))
      size = kSizeLimit;
    if (size >= most) {
      most = size;
      plan.queryLoop = row;
    }
  }
  for (unsigned row : plan.dims.rows)
    if (row != plan.queryLoop)
      plan.outer.push_back(row);

  Block &body = op.getBody().front();
  SmallVector<unsigned> scoreDims = plan.dims.getScoreDims();
  auto getIndex = [&](unsigned loop) -> Value {
    return body.getArgument(llvm::find(scoreDims, loop) - scoreDims.begin());
  };
  if (plan.queryLoop == query.getNumDims() || !modifiedScore)
    return plan;
  int64_t rows = getStaticSize(operands, plan.queryLoop),
          keys = getStaticSize(operands, plan.dims.key);
  bool hasKeyOfRow = !ShapedType::isDynamic(rows) &&
                     !ShapedType::isDynamic(keys) && rows <= keys;
  // Query, key, value, and two of the result.
  constexpr size_t kNumFixedOperands = 5;
  plan.visible = findVisibleKeys(
      modifiedScore, getIndex(plan.queryLoop), getIndex(plan.dims.key),
      hasKeyOfRow && operands.size() == kNumFixedOperands);
  return plan;
}

static LogicalResult explainSize(const AttentionPlan &plan,
                                 std::string &reason) {
  reason = ("heads of " + Twine(plan.depth.elements) + " and " +
            Twine(plan.columns.elements) + " elements are too large")
               .str();
  return failure();
}

FailureOr<AttentionPlan> remat::planAttention(AttentionOp op,
                                              std::string &reason) {
  FailureOr<AttentionPlan> plan = planLoops(op, op.getModifiedScore(), reason);
  if (failed(plan))
    return failure();
  int64_t bytes = op.getSumType().getWidth() / 8;
  auto tile = chooseTile(kForwardTiles, [&](ScoreTile tile) {
    int64_t elements =
        tile.queries *
            (plan->depth.stride + getScoreStride(tile.keys, plan->perVector)) +
        tile.keys * std::max(plan->depth.stride, plan->columns.stride);
    return elements * bytes <= kWorkgroupBytes &&
           countSums(tile.queries, plan->columns, plan->perVector, bytes) <=
               kSumRegisters;
  });
  if (!tile)
    return explainSize(*plan, reason);
  plan->forward = *tile;
  return plan;
}

FailureOr<AttentionPlan> remat::planAttention(AttentionBackwardOp op,
                                              std::string &reason) {
  FailureOr<AttentionPlan> plan = planLoops(op, findModifiedScore(op), reason);
  if (failed(plan))
    return failure();
  for (auto [number, index] : llvm::enumerate(op.getDifferentiated())) {
    AffineMap map = op.getMap(3 + index);
    bool isOfScores = plan->queryLoop < map.getNumDims() &&
                      map.isFunctionOfDim(plan->queryLoop) &&
                      map.isFunctionOfDim(plan->dims.key);
    auto type =
        dyn_cast<FloatType>(getElementTypeOrSelf(op.getInits()[3 + number]));
    if (!isOfScores || !type || type.getWidth() > op.getSumType().getWidth()) {
      reason = "the gradient of an operand of scores is a sum over positions";
      return failure();
    }
  }
  int64_t bytes = op.getSumType().getWidth() / 8;
  int64_t width = plan->depth.stride + plan->columns.stride;
  auto sumsOf = [&](int64_t rows, TileWidth columns) {
    return countSums(rows, columns, plan->perVector, bytes);
  };
  auto byQueries = chooseTile(kBackwardTiles, [&](ScoreTile tile) {
    int64_t elements =
        (tile.queries + tile.keys) * width +
        tile.queries * getScoreStride(tile.keys, plan->perVector);
    return elements * bytes <= kWorkgroupBytes &&
           sumsOf(tile.queries, plan->depth) <= kSumRegisters;
  });
  auto byKeys = chooseTile(kBackwardTiles, [&](ScoreTile tile) {
    int64_t elements =
        (tile.queries + tile.keys) * width +
        2 * tile.keys * getScoreStride(tile.queries, plan->perVector);
    return elements * bytes <= kWorkgroupBytes &&
           sumsOf(tile.keys, plan->depth) + sumsOf(tile.keys, plan->columns) <=
               kSumRegisters;
  });
  if (!byQueries || !byKeys)
    return explainSize(*plan, reason);
  plan->byQueries = *byQueries;
  plan->byKeys = *byKeys;
  return plan;
}
