//===- AttentionPlan.cpp - Tiles of an attention on a GPU -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionPlan.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

using namespace mlir;
using namespace mlir::remat;

/// Bytes of workgroup memory that chips with tensor cores for f16 and bf16 give
/// who asks for it, and how much lets three blocks run on a multiprocessor of
/// sm_90, which is tried first.
static constexpr int64_t kMatrixWorkgroupBytes = 99 << 10,
                         kFewMatrixWorkgroupBytes = 72 << 10;
/// Registers of a thread, of 4 bytes, for sums that it keeps. With tensor cores
/// little else is in registers but scores, and their products in the backward.
static constexpr int64_t kSumRegisters = 64, kMatrixSumRegisters = 128,
                         kMatrixRegisters = 160;
/// Queries and keys of tiles, the most first. With tensor cores each warp has
/// 16 of the rows that the block owns, or 32.
static constexpr ScoreTile kForwardTiles[] = {
    {64, 64, true}, {64, 32, true}, {64, 16, true}, {64, 32},
    {32, 32},       {32, 16},       {16, 16},       {16, 8}};
static constexpr ScoreTile kTilesByQueries[] = {
    {64, 32, true}, {64, 16, true}, {32, 32}, {32, 16}, {16, 32}, {16, 16}};
/// With 128 keys a warp uses twice what it loads of queries, and half as many
/// warps run: faster here, slower in the other kernels.
static constexpr ScoreTile kTilesByKeys[] = {
    {32, 128, true}, {32, 64, true}, {16, 64, true}, {32, 32},
    {32, 16},        {16, 32},       {16, 16}};

ThreadLayout AttentionPlan::getLayout(ScoreTile tile) const {
  // As PTX lays out the sums of mma.sync.m16n8k16.
  if (tile.usesMatrices)
    return {/*rowStep=*/kMatrixRows / 2, /*lanes=*/4, /*perScore=*/2,
            /*perSum=*/2};
  return {/*rowStep=*/16, /*lanes=*/8, /*perScore=*/1, getPerVector(tile)};
}

int64_t remat::getScoreStride(int64_t columns, int64_t perVector) {
  return columns + perVector;
}

namespace {
/// The resources of the chip that a kernel of such tiles needs.
struct Resources {
  Resources(const AttentionPlan &plan, ScoreTile tile)
      : tile(tile), layout(plan.getLayout(tile)),
        depth(plan.getWidth(tile, plan.depth)),
        columns(plan.getWidth(tile, plan.columns)),
        perVector(plan.getPerVector(tile)),
        bytes(plan.getStoredType(tile).getWidth() / 8),
        sumBytes(plan.sumType.getIntOrFloatBitWidth() / 8) {}

  /// Registers for a thread's sums in `rows` rows.
  int64_t countSums(int64_t rows, TileWidth width) const {
    return layout.countRows(rows) * layout.countSums(width.padded) * sumBytes /
           4;
  }
  /// Elements that threads exchange.
  int64_t countScores(int64_t rows, int64_t others) const {
    return tile.usesMatrices ? 0 : rows * getScoreStride(others, perVector);
  }
  /// Two numbers of sums' type for each query that a block comes by.
  int64_t countNumbers() const {
    return tile.usesMatrices
               ? tile.getStages() * 2 * tile.queries * sumBytes / bytes
               : 0;
  }
  /// A thread's scores are as many in each kernel of matrices.
  bool fits(int64_t elements, int64_t sums, int64_t matrixBytes) const {
    if (elements * bytes > (tile.usesMatrices ? matrixBytes : kWorkgroupBytes))
      return false;
    if (!tile.usesMatrices)
      return sums <= kSumRegisters;
    int64_t scores = tile.queries * tile.keys / kAttentionThreads;
    return sums <= kMatrixSumRegisters && sums + scores <= kMatrixRegisters;
  }

  ScoreTile tile;
  ThreadLayout layout;
  TileWidth depth, columns;
  int64_t perVector, bytes, sumBytes;
};
} // namespace

/// The first tile that fits; rather one of matrices that leaves few blocks room
/// than one without.
template <typename Fits>
static std::optional<ScoreTile> chooseTile(ArrayRef<ScoreTile> tiles,
                                           Fits fits) {
  std::optional<ScoreTile> chosen;
  for (int64_t matrixBytes : {kFewMatrixWorkgroupBytes, kMatrixWorkgroupBytes})
    for (ScoreTile tile : tiles)
      if (fits(tile, matrixBytes)) {
        chosen = tile;
        if (tile.usesMatrices)
          return chosen;
        break;
      }
  return chosen;
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
  plan.depth = depth;
  plan.columns = columns;
  plan.sumType = op.getSumType();

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

/// The common type of `operands`, if there are tensor cores for it.
static FloatType findMatrixType(FloatType sumType, ValueRange operands) {
  Type type = getElementTypeOrSelf(operands.front());
  bool isSame = llvm::all_of(operands, [&](Value operand) {
    return getElementTypeOrSelf(operand) == type;
  });
  return isSame && sumType.isF32() &&
                 (type.isF32() || type.isBF16() || type.isF16())
             ? cast<FloatType>(type)
             : FloatType();
}

/// Returns true if `result` is rounded as factors of tensor cores are.
static bool rounds(const AttentionPlan &plan, Value result) {
  return plan.matrixType && !plan.matrixType.isF32() &&
         getElementTypeOrSelf(result) == plan.matrixType;
}

/// Returns true if tiles of `keys` keys are blocks enough for a large chip, if
/// sizes are known.
static bool areManyBlocks(const AttentionPlan &plan, ArrayRef<Indexed> operands,
                          AffineMap keyMap, int64_t keys) {
  int64_t size = getStaticSize(operands, plan.dims.key);
  if (ShapedType::isDynamic(size))
    return true;
  int64_t blocks = llvm::divideCeil(size, keys);
  for (unsigned outer : plan.outer)
    if (keyMap.isFunctionOfDim(outer)) {
      int64_t number = getStaticSize(operands, outer);
      if (ShapedType::isDynamic(number))
        return true;
      blocks *= number;
    }
  return blocks >= kManyBlocks;
}

static LogicalResult explainSize(const AttentionPlan &plan,
                                 std::string &reason) {
  reason = ("heads of " + Twine(plan.depth) + " and " + Twine(plan.columns) +
            " elements are too large")
               .str();
  return failure();
}

FailureOr<AttentionPlan> remat::planAttention(AttentionOp op,
                                              std::string &reason) {
  FailureOr<AttentionPlan> plan = planLoops(op, op.getModifiedScore(), reason);
  if (failed(plan))
    return failure();
  plan->matrixType = findMatrixType(
      plan->sumType, {op.getQuery(), op.getKey(), op.getValue()});
  plan->roundsFactors = rounds(*plan, op.getInit());
  auto tile =
      chooseTile(kForwardTiles, [&](ScoreTile tile, int64_t matrixBytes) {
        if (tile.usesMatrices && !plan->matrixType)
          return false;
        Resources needs(*plan, tile);
        return needs.fits(
            tile.queries * needs.depth.stride +
                needs.countScores(tile.queries, tile.keys) +
                tile.getStages() * tile.keys *
                    (tile.usesMatrices
                         ? needs.depth.stride + needs.columns.stride
                         : std::max(needs.depth.stride, needs.columns.stride)),
            needs.countSums(tile.queries, needs.columns), matrixBytes);
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
  plan->matrixType =
      findMatrixType(plan->sumType, {op.getQuery(), op.getKey(), op.getValue(),
                                     op.getCotangent()});
  plan->roundsFactors =
      llvm::all_of(op.getInits().take_front(3),
                   [&](Value gradient) { return rounds(*plan, gradient); });
  // Cotangents of scores may be larger than all of f16, or less: where
  // gradients are f16 that is so for them as well.
  if (plan->matrixType && plan->matrixType.isF16() && !plan->roundsFactors)
    plan->matrixType = {};
  // Rows that a block owns, and those of which it reads one tile after another.
  auto choose = [&](ArrayRef<ScoreTile> tiles, int64_t ScoreTile::*own,
                    int64_t ScoreTile::*others, auto countScoresAndSums) {
    return chooseTile(tiles, [&](ScoreTile tile, int64_t matrixBytes) {
      if (tile.usesMatrices && !plan->matrixType)
        return false;
      Resources needs(*plan, tile);
      auto [scores, sums] = countScoresAndSums(needs);
      return needs.fits((tile.*own + tile.getStages() * tile.*others) *
                                (needs.depth.stride + needs.columns.stride) +
                            scores,
                        sums, matrixBytes);
    });
  };
  constexpr auto kQueries = &ScoreTile::queries, kKeys = &ScoreTile::keys;
  auto byQueries =
      choose(kTilesByQueries, kQueries, kKeys, [](const Resources &needs) {
        return std::pair(needs.countScores(needs.tile.queries, needs.tile.keys),
                         needs.countSums(needs.tile.queries, needs.depth));
      });
  ArrayRef tilesByKeys(kTilesByKeys);
  if (!areManyBlocks(*plan, getIndexedOperands(op), op.getMap(1),
                     tilesByKeys.front().keys))
    tilesByKeys = tilesByKeys.drop_front();
  auto byKeys =
      choose(tilesByKeys, kKeys, kQueries, [](const Resources &needs) {
        return std::pair(
            2 * needs.countScores(needs.tile.keys, needs.tile.queries) +
                needs.countNumbers(),
            needs.countSums(needs.tile.keys, needs.depth) +
                needs.countSums(needs.tile.keys, needs.columns));
      });
  auto byScores =
      choose(ArrayRef(kTilesByQueries).drop_while([](ScoreTile tile) {
        return tile.usesMatrices;
      }),
             kQueries, kKeys,
             [](const Resources &) { return std::pair<int64_t, int64_t>(); });
  if (!byQueries || !byKeys || !byScores)
    return explainSize(*plan, reason);
  plan->byQueries = *byQueries;
  plan->byKeys = *byKeys;
  plan->byScores = *byScores;
  return plan;
}
