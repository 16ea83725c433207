//===- KernelPlan.cpp - How a loop nest becomes a kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules that make a kernel fast, below the one rule that bits depend on the
// operation only (see ReductionOrder).
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"

#include "../KernelBody.h"

#include "remat/Analysis/Activity.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::remat;

/// Element operations below which starting threads costs more than it saves.
static constexpr int64_t kMinParallelWork = int64_t(1) << 16;
/// Vectors that `Across` reductions process together, so that a row of the
/// input is read by more than a cache line at a time.
static constexpr int64_t kWideLanes = 64;
static constexpr unsigned kMaxOpsForWideLanes = 16;
static constexpr int64_t kMinChunk = 1024;
/// Rows of long ones that are added up at a time, as many streams as a
/// processor follows, and the elements of each row that a thread reads.
static constexpr int64_t kRows = 8;
static constexpr int64_t kLongPiece = 1024;
/// Elements of the vectorized loop for which the cache lines of a transposed
/// operand stay in the first cache, at any distance between them; and how many
/// such tiles there have to be, for an even load.
static constexpr int64_t kTile = 32;
static constexpr int64_t kMinTiles = 8;
/// The same where each line is read once: results are written in long pieces.
static constexpr int64_t kMaxTile = 256;
/// Elements of a cache line that are worth a second read of it.
static constexpr int64_t kMinReuse = 4;
/// A block that is transposed has the body this often, so that larger bodies
/// would take time to compile, and gain less.
static constexpr unsigned kMaxOpsInBlocks = 32;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool needsSequentialExecution(const LoopNest &nest) {
  for (const Access &output : nest.outputs())
    for (auto [index, loop] : llvm::enumerate(nest.loops))
      if (output.isInvariantIn(index) == loop.isParallel())
        return true;
  return false;
}

/// Returns true if iterations of `loop` write elements of their own in a nest
/// that runs in order: in each output, the dimensions that it stands for are
/// indices by themselves.
static bool hasOwnElements(const LoopNest &nest, unsigned loop) {
  if (!nest.loops[loop].isParallel())
    return false;
  return llvm::all_of(nest.op.getDpsInitsMutable(), [&](OpOperand &output) {
    AffineMap map = nest.op.getMatchingIndexingMap(&output);
    auto isOwn = [&](auto pair) {
      auto [dim, at] = pair;
      return at != loop ||
             llvm::is_contained(map.getResults(),
                                getAffineDimExpr(dim, map.getContext()));
    };
    const Access &access = nest.accesses[output.getOperandNumber()];
    return !access.isInvariantIn(loop) &&
           llvm::all_of(llvm::enumerate(nest.loopOfDim), isOwn);
  });
}

/// How well vectors along `loop` suit what the body reads at computed indices:
/// as for operands, rows are good and single elements bad.
static int scoreOfLoads(const LoopNest &nest, unsigned loop) {
  Block *body = nest.op.getBlock();
  auto loads = llvm::to_vector(body->getOps<memref::LoadOp>());
  if (loads.empty())
    return 0;
  SmallVector<Value> sources;
  for (auto [argument, access] :
       llvm::zip_equal(body->getArguments(), nest.accesses))
    if (!access.isScalar() && !access.isInvariantIn(loop))
      sources.push_back(argument);
  auto isOwnIndex = [&](Value value) {
    auto index = value.getDefiningOp<linalg::IndexOp>();
    return index && nest.loopOfDim[index.getDim()] == loop;
  };
  for (auto index : body->getOps<linalg::IndexOp>())
    if (isOwnIndex(index))
      sources.push_back(index);
  DenseSet<Value> varying = findDependents(*body, sources);
  auto varies = [&](Value value) { return varying.contains(value); };
  int score = 0;
  for (memref::LoadOp load : loads) {
    if (llvm::none_of(load.getIndices(), varies))
      continue;
    bool isRow = isOwnIndex(load.getIndices().back()) &&
                 load.getMemRefType().isLastDimUnitStride() &&
                 llvm::none_of(load.getIndices().drop_back(), varies);
    score += isRow ? 2 : -2;
  }
  return score;
}

/// How well vectors along `loop` suit the operands; negative if not at all.
static int scoreAsVectorLoop(const LoopNest &nest, unsigned loop) {
  int score = 0;
  for (const Access &access : nest.accesses)
    score += access.isScalar() || access.isInvariantIn(loop) ? 0
             : access.isContiguousIn(loop)                   ? 2
                                                             : -2;
  for (const Access &output : nest.outputs())
    score += output.isContiguousIn(loop) ? 1 : 0;
  // Few elements fill few lanes.
  int64_t size = nest.loops[loop].sizeOr(kLanes);
  return size < 4 ? score - 16 : size < kLanes ? score - 1 : score;
}

static std::optional<unsigned> findParallelVectorLoop(const LoopNest &nest) {
  std::optional<unsigned> best;
  int bestScore = std::numeric_limits<int>::min();
  for (auto [index, loop] : llvm::enumerate(nest.loops)) {
    if (!loop.isParallel())
      continue;
    int score = scoreAsVectorLoop(nest, index);
    if (score < 0)
      continue;
    score += scoreOfLoads(nest, index);
    if (score >= bestScore) {
      best = index;
      bestScore = score;
    }
  }
  return best;
}

/// The loops along which some operand lies where the vectorized loop jumps from
/// one of its cache lines to another. Such lines are read again and again while
/// that loop advances, so it has to run inside of a part of the vectorized loop
/// for which all of them stay in the cache.
static SmallVector<unsigned> findTransposedLoops(const LoopNest &nest,
                                                 unsigned vectorLoop) {
  SmallVector<unsigned> found;
  if (nest.hasReduction())
    return found;
  for (auto [index, loop] : llvm::enumerate(nest.loops))
    if (loop.sizeOr(kMinReuse) >= kMinReuse &&
        llvm::any_of(nest.accesses, [&, i = index](const Access &access) {
          return !access.isScalar() && access.isContiguousIn(i) &&
                 !access.isInvariantIn(vectorLoop) &&
                 !access.isContiguousIn(vectorLoop);
        }))
      found.push_back(index);
  return found;
}

/// Which of these loops blocks are transposed along, if any.
static std::optional<unsigned> findBlockLoop(const LoopNest &nest,
                                             unsigned vectorLoop,
                                             ArrayRef<unsigned> transposed) {
  if (nest.op.getBlock()->getOperations().size() > kMaxOpsInBlocks ||
      nest.loops[vectorLoop].sizeOr(kLanes) < kLanes)
    return std::nullopt;
  for (unsigned loop : llvm::reverse(transposed))
    if (nest.loops[loop].sizeOr(kLanes) >= kLanes)
      return loop;
  return std::nullopt;
}

/// How much of the vectorized loop is distributed as a unit where operands lie
/// across it; 0 if it is too short for that.
static int64_t findTile(const LoopNest &nest, const KernelPlan &plan) {
  constexpr int64_t least = kTile * kMinTiles;
  int64_t size = nest.loops[*plan.vectorLoop].sizeOr(least);
  if (size < least)
    return 0;
  if (!plan.blockLoop)
    return kTile;
  int64_t tile = size / kWantedIterations / kTile * kTile;
  return std::clamp(tile, kTile, kMaxTile);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

static void chooseVectorLoop(const LoopNest &nest, KernelPlan &plan) {
  bool hasVectorForm = canVectorizeBody(nest.op);
  // An order that was written by hand may be none that this nest can have.
  if (nest.hasReduction() && !nest.loops.back().isParallel() &&
      getReductionOrder(nest.op) == ReductionOrder::Along)
    plan.combiners = findCombiners(nest.op);
  if (!plan.combiners.empty()) {
    plan.vectorLoop = nest.loops.size() - 1;
    plan.lanes = hasVectorForm ? kLanes : 1;
    return;
  }
  if (!hasVectorForm)
    return;
  plan.vectorLoop = findParallelVectorLoop(nest);
  if (!plan.vectorLoop)
    return;
  bool isWide =
      nest.hasReduction() &&
      nest.op.getBlock()->getOperations().size() <= kMaxOpsForWideLanes &&
      nest.loops[*plan.vectorLoop].sizeOr(0) >= kWideLanes;
  plan.lanes = isWide ? kWideLanes : kLanes;
}

/// Returns true if a reduction `Across` goes over long rows, of which it reads
/// nothing twice: results whose rows are next to each other only in short
/// pieces would wait for memory.
static bool readsLongRows(const LoopNest &nest, const KernelPlan &plan) {
  if (!nest.hasReduction() || !plan.combiners.empty() || plan.lanes == 1)
    return false;
  unsigned loop = *plan.vectorLoop;
  ArrayRef<Access> inputs = ArrayRef(nest.accesses).take_front(nest.numInputs);
  auto isRow = [&](const Access &input) {
    return !input.isScalar() && input.isContiguousIn(loop) &&
           llvm::none_of(
               llvm::seq<unsigned>(nest.loops.size()),
               [&](unsigned other) { return input.isInvariantIn(other); });
  };
  // Nobody else may read what waits in memory.
  auto isApart = [&](const Access &output) {
    return output.isContiguousIn(loop) &&
           llvm::none_of(inputs, [&](const Access &input) {
             return input.source == output.source;
           });
  };
  return nest.loops[loop].sizeOr(0) >= kLongPiece &&
         llvm::any_of(inputs, isRow) && llvm::all_of(nest.outputs(), isApart);
}

/// Returns true if there is enough to do for threads.
static bool isLarge(const LoopNest &nest) {
  int64_t iterations = 1;
  for (const Loop &loop : nest.loops)
    iterations = multiplySizes({loop.sizeOr(kMinParallelWork)}, iterations);
  int64_t costOfOne =
      nest.op.getBlock()->getOperations().size() + nest.accesses.size();
  return iterations * costOfOne >= kMinParallelWork;
}

/// Distributes the outermost loops that `mayShare`, as many as threads need.
/// Returns how many iterations that is.
static int64_t distribute(const LoopNest &nest, KernelPlan &plan,
                          function_ref<bool(unsigned)> mayShare) {
  int64_t distributed = 1;
  for (auto [index, loop] : llvm::enumerate(nest.loops)) {
    if (distributed >= kWantedIterations)
      break;
    if (!mayShare(index))
      continue;
    plan.threadLoops.push_back(index);
    int64_t size = loop.sizeOr(kWantedIterations);
    distributed *=
        index == plan.blockLoop ? llvm::divideCeil(size, kLanes) : size;
  }
  return distributed;
}

static void chooseThreadLoops(const LoopNest &nest,
                              ArrayRef<unsigned> transposed, KernelPlan &plan) {
  if (!isLarge(nest))
    return;
  if (!transposed.empty())
    plan.chunk = findTile(nest, plan);
  int64_t distributed = distribute(nest, plan, [&](unsigned loop) {
    return nest.loops[loop].isParallel() && loop != plan.vectorLoop &&
           !(plan.chunk && llvm::is_contained(transposed, loop));
  });
  if (distributed >= kWantedIterations)
    return;
  if (plan.chunk || !transposed.empty() || !plan.vectorLoop ||
      !nest.loops[*plan.vectorLoop].isParallel())
    return;
  int64_t size = nest.loops[*plan.vectorLoop].sizeOr(1 << 20);
  int64_t parts =
      llvm::divideCeil(kWantedIterations, std::max<int64_t>(distributed, 1));
  int64_t minChunk = plan.rows             ? std::min(kLongPiece, size / 2)
                     : nest.hasReduction() ? plan.lanes
                                           : kMinChunk;
  plan.chunk = llvm::alignTo(
      std::max<int64_t>(llvm::divideCeil(size, parts), minChunk), plan.lanes);
}

KernelPlan mlir::remat::planKernel(const LoopNest &nest) {
  KernelPlan plan;
  plan.isSequential = needsSequentialExecution(nest);
  if (plan.isSequential) {
    if (isLarge(nest))
      distribute(nest, plan,
                 [&](unsigned loop) { return hasOwnElements(nest, loop); });
    return plan;
  }
  chooseVectorLoop(nest, plan);
  if (readsLongRows(nest, plan)) {
    plan.rows = kRows;
    plan.lanes = kLanes;
  }
  SmallVector<unsigned> transposed;
  if (plan.vectorLoop) {
    transposed = findTransposedLoops(nest, *plan.vectorLoop);
    plan.blockLoop = findBlockLoop(nest, *plan.vectorLoop, transposed);
  }
  chooseThreadLoops(nest, transposed, plan);
  return plan;
}
