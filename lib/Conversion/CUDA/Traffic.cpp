//===- Traffic.cpp - Bytes that a kernel moves ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the addresses of warps through the plan of a kernel, as the hardware
// does: the loads of a warp's threads at one instruction are one request, for
// the sectors in which their elements are. Of large kernels a sample of the
// requests is followed.
//===----------------------------------------------------------------------===//

#include "Traffic.h"
#include "WarpShuffle.h"

#include "DevicePointers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::remat;

static constexpr int64_t kSector = 32;
/// Larger operands are taken for gone before another warp asks for them.
static constexpr int64_t kCached = Traffic::kCached;
/// A quarter of the cache of a multiprocessor: what other warps brought in with
/// their sectors is still there.
static constexpr int64_t kNear = int64_t(64) << 10;
/// Requests that are followed for each operand.
static constexpr int64_t kSample = 512;

static std::optional<SmallVector<int64_t>>
getConstants(ArrayRef<OpFoldResult> numbers) {
  SmallVector<int64_t> constants;
  for (OpFoldResult number : numbers) {
    std::optional<int64_t> constant = getConstantIntValue(number);
    if (!constant)
      return std::nullopt;
    constants.push_back(*constant);
  }
  return constants;
}

std::pair<int64_t, int64_t>
mlir::remat::measureMemory(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                           int64_t elementBytes) {
  // From the smallest to the largest stride.
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    if (stride != 0 && size > 1)
      steps.push_back({std::abs(stride), size});
  llvm::sort(steps);
  int64_t count = 1, reach = 0, ranges = 1, rangeBytes = elementBytes;
  for (auto [stride, size] : steps) {
    int64_t farthest = reach + stride * (size - 1);
    count =
        stride > reach ? count * size : std::min(count * size, farthest + 1);
    reach = farthest;
    if (stride * elementBytes < rangeBytes + kSector)
      rangeBytes += (size - 1) * stride * elementBytes;
    else
      ranges *= size;
  }
  return {count * elementBytes, ranges * llvm::alignTo(rangeBytes, kSector)};
}

namespace {

/// One operand's elements, and the requests for them.
class Requests {
public:
  Requests(const LoopNest &nest, const GridPlan &plan, unsigned access,
           ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides)
      : nest(nest), plan(plan), access(access), sizes(sizes), strides(strides),
        elementBytes(getBytesInMemory(nest.accesses[access].elementType)),
        start(getConstantIntValue(nest.accesses[access].offset)
                  .value_or(getConstantIntValue(nest.accesses[access].start)
                                .value_or(0))) {}

  Traffic count();

private:
  using Iterations = SmallVector<int64_t>;

  bool isTiled() const {
    return plan.tile && llvm::is_contained(plan.tile->inputs, access);
  }
  void measureElements();
  /// Iterations of a loop of the grid, as its points count them.
  int64_t countSteps(unsigned loop) const {
    if (plan.vector.loop == loop)
      return sizes[loop] / plan.vector.count;
    if (plan.tile && (loop == plan.tile->inLoop || loop == plan.tile->outLoop))
      return llvm::divideCeil(sizes[loop], TransposeTile::kSize);
    return sizes[loop];
  }
  int64_t product(ArrayRef<unsigned> loops) const {
    int64_t count = 1;
    for (unsigned loop : loops)
      count *= countSteps(loop);
    return count;
  }
  void advance(ArrayRef<unsigned> loops, int64_t number, Iterations &at) const {
    for (unsigned loop : llvm::reverse(loops)) {
      at[loop] = number % countSteps(loop);
      number /= countSteps(loop);
      if (plan.vector.loop == loop)
        at[loop] *= plan.vector.count;
    }
  }
  int64_t countRequests() const;
  /// Where a thread of the request is, if it takes part.
  std::optional<Iterations> find(int64_t request, int64_t thread) const;
  std::optional<Iterations> findInLanes(int64_t request, int64_t thread) const;
  std::optional<Iterations> findInSquare(int64_t request, int64_t thread) const;
  void follow(int64_t request);

  const LoopNest &nest;
  const GridPlan &plan;
  unsigned access;
  ArrayRef<int64_t> sizes, strides;
  int64_t elementBytes, start;

  /// Loops that are not in the grid.
  SmallVector<unsigned> inner;
  /// Bytes of the elements, and of their sectors.
  int64_t elements = 0, sectors = 0;
  /// Bytes of the requests that were followed: of all threads, of different
  /// elements, of sectors.
  int64_t accessed = 0, wanted = 0, moved = 0;
};

} // namespace

void Requests::measureElements() {
  std::tie(elements, sectors) = measureMemory(sizes, strides, elementBytes);
}

int64_t Requests::countRequests() const {
  int64_t points = product(plan.gridLoops);
  if (plan.tile)
    return points * TransposeTile::kSize;
  if (plan.lanes > 1)
    return llvm::divideCeil(points, plan.pointsPerBlock()) *
           (plan.blockSize / kWarp) *
           llvm::divideCeil(product(inner), plan.lanes);
  return llvm::divideCeil(points, kWarp) * product(inner);
}

std::optional<Requests::Iterations> Requests::find(int64_t request,
                                                   int64_t thread) const {
  if (plan.tile)
    return findInSquare(request, thread);
  if (plan.lanes > 1)
    return findInLanes(request, thread);
  int64_t steps = product(inner);
  int64_t point = request / steps * kWarp + thread;
  if (point >= product(plan.gridLoops))
    return std::nullopt;
  Iterations at(sizes.size(), 0);
  advance(plan.gridLoops, point, at);
  advance(inner, request % steps, at);
  return at;
}

std::optional<Requests::Iterations>
Requests::findInLanes(int64_t request, int64_t thread) const {
  int64_t steps = llvm::divideCeil(product(inner), plan.lanes);
  int64_t warps = plan.blockSize / kWarp, points = plan.pointsPerBlock();
  int64_t step = request % steps, block = request / steps / warps;
  thread += request / steps % warps * kWarp;
  bool along = plan.lanesAreNeighbours;
  int64_t lane = along ? thread % plan.lanes : thread / points;
  int64_t slot = along ? thread / plan.lanes : thread % points;
  int64_t number = step * plan.lanes + lane;
  if (number >= product(inner))
    return std::nullopt;
  Iterations at(sizes.size(), 0);
  int64_t last = product(plan.gridLoops) - 1;
  advance(plan.gridLoops, std::min(block * points + slot, last), at);
  advance(inner, number, at);
  return at;
}

std::optional<Requests::Iterations>
Requests::findInSquare(int64_t request, int64_t thread) const {
  Iterations at(sizes.size(), 0);
  advance(plan.gridLoops, request / TransposeTile::kSize, at);
  int64_t across = request % TransposeTile::kSize;
  unsigned loop = plan.tile->outLoop, other = plan.tile->inLoop;
  if (isTiled())
    std::swap(loop, other);
  at[loop] = at[loop] * TransposeTile::kSize + thread;
  at[other] = at[other] * TransposeTile::kSize + across;
  if (at[loop] >= sizes[loop] || at[other] >= sizes[other])
    return std::nullopt;
  return at;
}

void Requests::follow(int64_t request) {
  bool isVector = plan.vector.loop && strides[*plan.vector.loop] != 0;
  int64_t bytes = elementBytes * (isVector ? plan.vector.count : 1);
  llvm::SmallDenseSet<int64_t> addresses, touched;
  for (int64_t thread = 0; thread < kWarp; ++thread) {
    std::optional<Iterations> at = find(request, thread);
    if (!at)
      continue;
    int64_t address = start;
    for (auto [iteration, stride] : llvm::zip_equal(*at, strides))
      address += iteration * stride;
    address *= elementBytes;
    accessed += bytes;
    if (!addresses.insert(address).second)
      continue;
    wanted += bytes;
    for (int64_t byte = address; byte < address + bytes;
         byte += std::min(elementBytes, kSector))
      if (touched.insert(byte / kSector).second)
        moved += kSector;
  }
}

Traffic Requests::count() {
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (!llvm::is_contained(plan.gridLoops, loop))
      inner.push_back(loop);
  measureElements();
  // The first lane stores a result.
  if (access >= nest.numInputs &&
      llvm::is_contained(plan.reduced, access - nest.numInputs))
    return {elements, std::nullopt, sectors};
  int64_t total = countRequests(), sample = std::min(total, kSample);
  for (int64_t i = 0; i < sample; ++i) {
    // Not at regular distances, which could always meet the same column.
    int64_t first = i * total / sample, next = (i + 1) * total / sample;
    follow(first + (i * 7919) % (next - first));
  }
  auto scale = [&](int64_t bytes) -> int64_t {
    return double(bytes) * double(total) / double(sample);
  };
  if (total > sample) {
    accessed = scale(accessed);
    wanted = scale(wanted);
    moved = scale(moved);
  }
  bool isAgain = double(wanted) > 1.01 * double(elements);
  bool isKept = sectors <= (isAgain ? kCached : kNear);
  return {elements,
          nest.hasReduction() || plan.isInOrder ? std::nullopt
                                                : std::optional(accessed),
          isKept ? sectors : moved};
}

std::optional<Traffic> mlir::remat::countTraffic(const LoopNest &nest,
                                                 const GridPlan &plan,
                                                 unsigned access) {
  if (access < nest.numInputs &&
      nest.op.getBlock()->getArgument(access).use_empty())
    return Traffic();
  auto sizes = getConstants(llvm::map_to_vector(
      nest.loops, [](const Loop &loop) { return loop.size; }));
  auto strides = getConstants(nest.accesses[access].strides);
  if (!sizes || !strides || llvm::is_contained(*sizes, 0))
    return std::nullopt;
  return Requests(nest, plan, access, *sizes, *strides).count();
}
