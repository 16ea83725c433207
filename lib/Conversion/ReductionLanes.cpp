//===- ReductionLanes.cpp - How a sum is split ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReductionLanes.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include <cmath>

using namespace mlir;
using namespace mlir::remat;

/// Threads for which a large GPU has room, twice: a thread may have two
/// results. A constant of the project: how a sum is split must not depend on
/// the chip.
static constexpr int64_t kWantedThreads = int64_t(1) << 19;
/// Threads of a warp.
static constexpr int64_t kWarp = 32;
/// Lanes of one result where neighbouring threads are results: eight of these
/// read a sector of 32 bytes together.
static constexpr int64_t kMaxLanesAcross = 128;
/// Elements, or vectors of these, that a thread should add up.
static constexpr int64_t kMinElementsPerThread = 4, kMinVectorsPerThread = 2;
/// 16 bytes of f32, 8 of bf16, and long enough for a warp to ask for whole
/// sectors of either.
static constexpr int64_t kVectorLanes = 4;
/// A kernel of fewer threads leaves most of the device idle: 32 blocks of 1024.
static constexpr int64_t kFewThreads = int64_t(1) << 15;
/// Threads of all chunks, where a thread has one result.
static constexpr int64_t kWantedThreadsOfChunks = int64_t(1) << 18;
/// Many results side by side have long rows of memory between a lane's
/// elements, and a block for each 8 of them: chunks until there are as many
/// threads.
static constexpr int64_t kManyResults = 256;
static constexpr int64_t kThreadsOfManyResults = int64_t(1) << 20;
/// Lanes of a chunk of these: a block that has few has room for more columns,
/// and reads 256 bytes of a row and not 64, for which DRAM is slower.
static constexpr int64_t kLanesOfManyResults = 8;
/// Elements of one lane that take longer than another launch.
static constexpr int64_t kLongLane = 128;
/// Elements that a lane of a chunk should add up.
static constexpr int64_t kMinElementsPerChunkLane = 32;
/// Iterations of a loop for each that may be left over: these have few threads.
static constexpr int64_t kMinIterationsOverRest = 16;
/// Elements of a chain that take longer than to start another one.
static constexpr int64_t kMinChain = 512;
/// Bounds the time of compilation.
static constexpr int64_t kMaxSizesTried = 4096;

static int64_t floorPowerOfTwo(int64_t number) {
  return llvm::bit_floor<uint64_t>(std::max<int64_t>(number, 1));
}

static int64_t getMaxLanes(ReductionOrder order, int64_t results) {
  return order == ReductionOrder::Along || results < kFewResults
             ? kMaxBlockSize
             : kMaxLanesAcross;
}

int64_t mlir::remat::getVectorLanes(ReductionOrder order, int64_t elements) {
  return order == ReductionOrder::Along && elements % kVectorLanes == 0 &&
                 elements > kVectorLanes
             ? kVectorLanes
             : 1;
}

int64_t mlir::remat::countLanes(ReductionOrder order, int64_t elements,
                                int64_t results) {
  int64_t perThread = getVectorLanes(order, elements);
  int64_t least = order == ReductionOrder::Along
                      ? std::min(kWarp * perThread, floorPowerOfTwo(elements))
                      : 1;
  int64_t minElements =
      perThread == 1 ? kMinElementsPerThread : kMinVectorsPerThread * perThread;
  int64_t most = std::min(getMaxLanes(order, results),
                          perThread * floorPowerOfTwo(elements / minElements));
  int64_t wanted = perThread * floorPowerOfTwo(kWantedThreads /
                                               std::max<int64_t>(results, 1));
  return std::max(std::min(wanted, most), least);
}

/// From half of `wanted` to `wanted` chunks, of the size that leaves the fewest
/// iterations over; one if these are too many.
static LoopChunks cutLoop(int64_t iterations, int64_t wanted) {
  if (iterations <= wanted)
    return {iterations, 1, 0};
  int64_t least = llvm::divideCeil(iterations, wanted);
  int64_t end =
      std::min({2 * least, least + kMaxSizesTried, iterations / 2 + 1});
  LoopChunks best = {1, iterations, 0};
  int64_t fewest = iterations / kMinIterationsOverRest + 1;
  for (int64_t size = least; size < end && fewest > 0; ++size)
    if (iterations % size < fewest) {
      fewest = iterations % size;
      best = {iterations / size, size, fewest};
    }
  return best;
}

/// About `wanted` chunks of loops of the given sizes.
static SmallVector<LoopChunks> cutLoops(ArrayRef<int64_t> sizes,
                                        int64_t wanted) {
  SmallVector<LoopChunks> cuts;
  int64_t chunks = 1;
  for (int64_t size : sizes) {
    LoopChunks cut = {1, size, 0};
    if (wanted > 1) {
      cut = cutLoop(size, wanted);
      wanted = cut.isSplit() ? 1 : wanted / cut.chunks;
    }
    chunks *= cut.chunks;
    cuts.push_back(cut);
  }
  return chunks > 1 ? cuts : SmallVector<LoopChunks>();
}

SmallVector<LoopChunks>
mlir::remat::planChunks(ReductionOrder order, ArrayRef<int64_t> reductionSizes,
                        int64_t results) {
  int64_t elements = multiplySizes(reductionSizes);
  if (elements == 0 || results == 0)
    return {};
  int64_t lanes = countLanes(order, elements, results);
  bool isAcross = order != ReductionOrder::Along && results >= kManyResults;
  int64_t few = isAcross ? kThreadsOfManyResults : kFewThreads;
  int64_t wanted = isAcross ? kThreadsOfManyResults : kWantedThreadsOfChunks;
  if (multiplySizes({results, lanes}) > few || elements / lanes < kLongLane)
    return {};
  // Each chunk of a result counts as a result of the kernel that reduces them.
  int64_t lanesOfChunk =
      isAcross ? kLanesOfManyResults : getMaxLanes(order, kFewResults);
  return cutLoops(
      reductionSizes,
      std::min(wanted / (results * lanesOfChunk),
               elements / (kMinElementsPerChunkLane * lanesOfChunk)));
}

SmallVector<LoopChunks>
mlir::remat::planChains(ReductionOrder order, ArrayRef<int64_t> reductionSizes,
                        int64_t maxChain) {
  int64_t lanes = 1;
  if (order == ReductionOrder::Along)
    for (int64_t size : reductionSizes) // The innermost one that runs.
      if (size > 1)
        lanes = std::min(size, kLanes);
  int64_t chain = multiplySizes(reductionSizes) / lanes;
  if (chain <= maxChain)
    return {};
  // The chunks are added up in a chain, too.
  int64_t root = llvm::bit_ceil<uint64_t>(std::sqrt(double(chain)));
  return cutLoops(reductionSizes, std::min(chain / kMinChain, root));
}
