//===- GridPlan.cpp - How a loop nest becomes a grid of threads -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules that keep neighbouring threads in neighbouring memory.
//===----------------------------------------------------------------------===//

#include "GridPlan.h"
#include "../ReductionLanes.h"

#include "DevicePointers.h"
#include "KernelLaunch.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::remat;

/// The size that is assumed where it is not known.
static constexpr int64_t kDynamicSize = 4096;
/// Shorter loops leave most of a square empty.
static constexpr int64_t kMinTransposed = 16;
/// Inputs for whose squares every chip has workgroup memory.
static constexpr size_t kMaxTransposed = 4;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static int64_t countIterations(const LoopNest &nest, bool parallel) {
  int64_t count = 1;
  for (const Loop &loop : nest.loops)
    if (loop.isParallel() == parallel)
      count = multiplySizes({loop.sizeOr(kDynamicSize)}, count);
  return count;
}

/// Loops of which no two iterations ever write the same element of `output`,
/// whatever the other loops do, as strides tell it. Sorted by stride, the loops
/// up to some position reach over R elements; if all strides above are
/// multiples of a number larger than R, an address tells both parts apart. A
/// loop that is alone between two such borders is told by the address.
static SmallVector<bool> findLoopsApart(const LoopNest &nest,
                                        const Access &output) {
  SmallVector<bool> distinct(nest.loops.size(), false);
  SmallVector<std::pair<int64_t, unsigned>> byStride;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    std::optional<int64_t> stride = getConstantIntValue(output.strides[loop]);
    std::optional<int64_t> size = getConstantIntValue(nest.loops[loop].size);
    if (!stride || !size)
      return distinct;
    if (*stride != 0)
      byStride.push_back({std::abs(*stride), loop});
  }
  llvm::sort(byStride);
  // The greatest common divisor of the strides from each position on.
  SmallVector<int64_t> divisors(byStride.size() + 1, 0);
  for (size_t i = byStride.size(); i-- > 0;)
    divisors[i] = std::gcd(divisors[i + 1], byStride[i].first);
  int64_t reach = 0;
  bool borderBefore = true;
  for (auto [i, entry] : llvm::enumerate(byStride)) {
    auto [stride, loop] = entry;
    reach += stride * (nest.loops[loop].sizeOr(1) - 1);
    bool borderAfter = i + 1 == byStride.size() || divisors[i + 1] > reach;
    distinct[loop] = borderBefore && borderAfter;
    borderBefore = borderAfter;
  }
  return distinct;
}

/// Returns true if each dimension of `loop` is alone in some position of the
/// output: other iterations are elsewhere, whatever the sizes are.
static bool hasOwnPosition(const LoopNest &nest, unsigned output,
                           unsigned loop) {
  AffineMap map =
      nest.op.getMatchingIndexingMap(nest.op.getDpsInitOperand(output));
  auto isAlone = [&](unsigned dim) {
    return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
      for (unsigned other = 0; other < map.getNumDims(); ++other)
        if (expr.isFunctionOfDim(other) != (other == dim))
          return false;
      return true;
    });
  };
  for (auto [dim, mapped] : llvm::enumerate(nest.loopOfDim))
    if (mapped == loop && !isAlone(dim))
      return false;
  return true;
}

/// Loops of which no two iterations ever write the same element of any output.
static SmallVector<bool> findDistinctLoops(const LoopNest &nest) {
  SmallVector<bool> distinct(nest.loops.size(), true);
  for (auto [number, output] : llvm::enumerate(nest.outputs())) {
    SmallVector<bool> apart = findLoopsApart(nest, output);
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
      distinct[loop] =
          distinct[loop] && (apart[loop] || hasOwnPosition(nest, number, loop));
  }
  return distinct;
}

/// Returns true if some output's element is written by several iterations of
/// parallel loops, or several elements by those of a reduction.
static bool needsOrder(const LoopNest &nest, ArrayRef<bool> distinct,
                       ArrayRef<unsigned> mapped) {
  for (auto [index, loop] : llvm::enumerate(nest.loops)) {
    if (loop.isParallel() && !distinct[index])
      return true;
    for (auto [number, output] : llvm::enumerate(nest.outputs()))
      if (!loop.isParallel() && !output.isInvariantIn(index) &&
          !llvm::is_contained(mapped, number))
        return true;
  }
  return false;
}

/// Elements of an operand, if no iterations meet.
static int64_t countElements(const LoopNest &nest, const Access &access) {
  int64_t count = 1;
  for (auto [index, loop] : llvm::enumerate(nest.loops))
    if (!access.isInvariantIn(index))
      count = multiplySizes({loop.sizeOr(kDynamicSize)}, count);
  return count;
}

/// How much neighbouring iterations of `loop` access side by side: elements of
/// the operands, since a few vectors matter less than one matrix.
static int64_t scoreAsFastest(const LoopNest &nest, unsigned loop) {
  int64_t score = 0;
  for (auto [index, access] : llvm::enumerate(nest.accesses)) {
    if (access.isScalar() || access.isInvariantIn(loop))
      continue;
    // Stores cannot be served by a cache.
    int64_t weight = index < nest.numInputs ? 2 : 3;
    int64_t elements = countElements(nest, access);
    score += access.isContiguousIn(loop) ? weight * elements : -2 * elements;
  }
  return score;
}

/// Returns true if vectors of `count` elements in `loop` are aligned for this
/// operand at every point.
static bool isAlignedAccess(const LoopNest &nest, const Access &access,
                            unsigned loop, int64_t count) {
  if (access.isScalar() || access.isInvariantIn(loop))
    return true;
  auto isMultiple = [&](OpFoldResult number) {
    std::optional<int64_t> constant = getConstantIntValue(number);
    return constant && *constant % count == 0;
  };
  if (!access.isContiguousIn(loop) || !isMultiple(access.offset) ||
      !isMultiple(access.start))
    return false;
  for (unsigned other = 0; other < nest.loops.size(); ++other)
    if (other != loop && !isMultiple(access.strides[other]))
      return false;
  return true;
}

/// Returns true if `loop` is made of vectors that are aligned for all operands.
static bool isAligned(const LoopNest &nest, unsigned loop, int64_t count) {
  std::optional<int64_t> size = getConstantIntValue(nest.loops[loop].size);
  return size && *size % count == 0 &&
         llvm::all_of(nest.accesses, [&](const Access &access) {
           return isAlignedAccess(nest, access, loop, count);
         });
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Partial results of each result. No operand's layout may have a say: it
/// differs from policy to policy.
static int64_t countLanes(const LoopNest &nest) {
  return countLanes(getReductionOrder(nest.op),
                    countIterations(nest, /*parallel=*/false),
                    countIterations(nest, /*parallel=*/true));
}

/// Outputs that lanes store while they add up others.
static SmallVector<unsigned> findMapped(const LoopNest &nest) {
  if (!nest.hasReduction() || countLanes(nest) == 1 ||
      findCombinersBesideMapped(nest.op).empty())
    return {};
  SmallVector<unsigned> mapped = findMappedOutputs(nest.op);
  for (unsigned output : mapped) {
    const Access &access = nest.outputs()[output];
    SmallVector<bool> apart = findLoopsApart(nest, access);
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
      if (access.isInvariantIn(loop) ||
          !(apart[loop] || hasOwnPosition(nest, output, loop)))
        return {};
  }
  return mapped;
}

static void chooseLanes(const LoopNest &nest, GridPlan &plan) {
  SmallVector<Combiner> combiners = plan.mapped.empty()
                                        ? findCombiners(nest.op)
                                        : findCombinersBesideMapped(nest.op);
  if (combiners.empty())
    return;
  plan.lanes = countLanes(nest);
  if (plan.lanes == 1)
    return;
  plan.combiners = std::move(combiners);
  for (unsigned output = 0; output < nest.outputs().size(); ++output)
    if (!llvm::is_contained(plan.mapped, output))
      plan.reduced.push_back(output);
  unsigned innermost = 0;
  for (auto [index, loop] : llvm::enumerate(nest.loops))
    if (!loop.isParallel())
      innermost = index;
  plan.lanesAreNeighbours =
      plan.gridLoops.empty() || scoreAsFastest(nest, innermost) >
                                    scoreAsFastest(nest, plan.gridLoops.back());
  int64_t count = getVectorLanes(getReductionOrder(nest.op),
                                 countIterations(nest, /*parallel=*/false));
  if (plan.lanesAreNeighbours && count > 1 && canVectorizeBody(nest.op) &&
      isAligned(nest, innermost, count)) {
    plan.vector = {count, innermost, /*isAligned=*/true};
    plan.lanes /= count;
  }
}

/// Vectors of 16 bytes of the widest element along `loop`, if every operand
/// allows them. Of the largest operands: a vector that all rows share, such as
/// a bias, is in the cache.
static void chooseVectors(const LoopNest &nest, unsigned loop, GridPlan &plan) {
  if (nest.hasReduction() || !canVectorizeBody(nest.op))
    return;
  int64_t widest = 1, most = 0;
  for (const Access &access : nest.accesses)
    most = std::max(most, countElements(nest, access));
  for (const Access &access : nest.accesses)
    if (!access.isScalar() && !access.isInvariantIn(loop) &&
        countElements(nest, access) == most)
      widest = std::max(widest, getBytesInMemory(access.elementType));
  int64_t count = kVectorBytes / widest;
  if (count > 1 && isAligned(nest, loop, count))
    plan.vector = {count, loop, /*isAligned=*/true};
}

/// Neighbouring results that a lane computes at once, so that it loads up to 16
/// bytes at once and computes once what they have in common: as many as leave
/// enough blocks. At least a word, where threads that load one element each
/// would leave a part of their sectors to other blocks: eight of bf16 are half
/// a sector.
static void chooseResultVectors(const LoopNest &nest, GridPlan &plan) {
  if (plan.lanes == 1 || plan.lanesAreNeighbours || !canVectorizeBody(nest.op))
    return;
  unsigned loop = plan.gridLoops.back();
  int64_t narrowest = 4, resultBytes = 0;
  for (const Access &access : nest.accesses)
    if (!access.isScalar() && !access.isInvariantIn(loop))
      narrowest = std::min(narrowest, getBytesInMemory(access.elementType));
  for (unsigned output : plan.reduced)
    resultBytes += getBytesInMemory(nest.outputs()[output].elementType);
  int64_t results = countIterations(nest, /*parallel=*/true);
  for (int64_t count = kVectorBytes / narrowest; count > 1; count /= 2) {
    bool isEnough = count * narrowest <= 4 ||
                    results >= count * plan.pointsPerBlock() * kManyBlocks;
    if (isEnough && plan.blockSize * count * resultBytes <= kWorkgroupBytes &&
        isAligned(nest, loop, count)) {
      plan.vector = {count, loop, /*isAligned=*/true};
      return;
    }
  }
}

/// The loop in which an input is contiguous that jumps from element to element
/// along `outLoop`.
static std::optional<unsigned>
findTransposed(const LoopNest &nest, const Access &input, unsigned outLoop) {
  if (input.isScalar() || input.isInvariantIn(outLoop) ||
      input.isContiguousIn(outLoop) || !input.elementType.isIntOrIndexOrFloat())
    return std::nullopt;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (input.isContiguousIn(loop))
      return loop;
  return std::nullopt;
}

static bool isLongEnough(const Loop &loop) {
  return loop.sizeOr(kDynamicSize) >= kMinTransposed;
}

/// Squares through workgroup memory where the first loop in which all outputs
/// are contiguous is not the one of all inputs.
static void chooseTile(const LoopNest &nest, GridPlan &plan) {
  for (unsigned outLoop : plan.gridLoops) {
    if (!isLongEnough(nest.loops[outLoop]) ||
        !llvm::all_of(nest.outputs(), [&](const Access &output) {
          return output.isContiguousIn(outLoop);
        }))
      continue;
    TransposeTile tile;
    tile.outLoop = outLoop;
    for (unsigned input = 0; input < nest.numInputs; ++input) {
      std::optional<unsigned> inLoop =
          findTransposed(nest, nest.accesses[input], outLoop);
      if (!inLoop || !isLongEnough(nest.loops[*inLoop]) ||
          tile.inputs.size() == kMaxTransposed ||
          (!tile.inputs.empty() && tile.inLoop != *inLoop))
        continue;
      tile.inLoop = *inLoop;
      tile.inputs.push_back(input);
    }
    if (!tile.inputs.empty())
      plan.tile = tile;
    return;
  }
}

GridPlan mlir::remat::planGrid(const LoopNest &nest, int64_t blockSize) {
  GridPlan plan;
  plan.blockSize = blockSize;
  SmallVector<bool> distinct = findDistinctLoops(nest);
  plan.mapped = findMapped(nest);
  plan.isInOrder = needsOrder(nest, distinct, plan.mapped);
  if (plan.isInOrder)
    plan.mapped.clear();
  for (auto [index, loop] : llvm::enumerate(nest.loops))
    if (plan.isInOrder ? distinct[index] : loop.isParallel())
      plan.gridLoops.push_back(index);
  // The loop along which most operands are contiguous is the fastest.
  auto fastest = llvm::max_element(plan.gridLoops, [&](unsigned a, unsigned b) {
    return std::make_pair(scoreAsFastest(nest, a), a) <
           std::make_pair(scoreAsFastest(nest, b), b);
  });
  if (fastest != plan.gridLoops.end())
    std::rotate(fastest, fastest + 1, plan.gridLoops.end());
  if (!plan.isInOrder && nest.hasReduction()) {
    chooseLanes(nest, plan);
  } else if (!plan.isInOrder) {
    chooseTile(nest, plan);
  }
  if (!plan.isInOrder && !plan.tile && !plan.gridLoops.empty())
    chooseVectors(nest, plan.gridLoops.back(), plan);
  plan.blockSize = std::max(blockSize, plan.lanes);
  // Neighbouring results fill a sector.
  if (plan.lanes > 1 && !plan.lanesAreNeighbours)
    plan.blockSize = std::max(
        plan.blockSize, std::min(plan.lanes * kFewResults, kMaxBlockSize));
  chooseResultVectors(nest, plan);
  return plan;
}

std::optional<GridPlan> mlir::remat::planRows(const LoopNest &nest,
                                              unsigned rowDims,
                                              int64_t blockSize) {
  GridPlan plan;
  plan.blockSize = blockSize;
  plan.mapped = findMapped(nest);
  if (needsOrder(nest, findDistinctLoops(nest), plan.mapped))
    return std::nullopt;
  unsigned rowLoops = 0;
  for (std::optional<unsigned> loop :
       ArrayRef(nest.loopOfDim).take_front(rowDims))
    if (loop)
      rowLoops = *loop + 1;
  llvm::append_range(plan.gridLoops, llvm::seq(rowLoops));
  ArrayRef<Loop> inner = ArrayRef(nest.loops).drop_front(rowLoops);
  if (!nest.hasReduction()) {
    if (!inner.empty())
      chooseVectors(nest, nest.loops.size() - 1, plan);
    return plan;
  }
  chooseLanes(nest, plan);
  bool hasOtherResults =
      llvm::any_of(inner, [](const Loop &loop) { return loop.isParallel(); });
  if (plan.combiners.empty() || !plan.lanesAreNeighbours || hasOtherResults)
    return std::nullopt;
  plan.blockSize = std::max(blockSize, plan.lanes);
  return plan;
}
