//===- ImproveLocality.cpp - Place users of a tensor together -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule for memory computes everything as late as it can. Kernels that
// read the same tensors then stand far from each other, and each loads them
// anew. Where memory has room, they can stand side by side.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Schedule/Passes.h"

#include "BlockGraph.h"
#include "remat/Analysis/BackwardBorder.h"

#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_IMPROVELOCALITYPASS
#include "remat/Transforms/Schedule/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

/// Tensors that are worth it: smaller ones stay in a cache.
static constexpr int64_t kLeastBytes = int64_t(1) << 17;
/// Kernels with more operands than this are not merged with others.
static constexpr unsigned kMaxOperands = 24;
/// Nodes between two kernels, at most: each attempt looks at all of them.
static constexpr unsigned kMaxDistance = 256;
/// Moves must stay below the peak by one part in this many: packing needs some
/// room besides live values.
static constexpr int64_t kMarginOfPeak = 64;
/// A move may make room for others; two rounds have been enough so far.
static constexpr unsigned kMaxRounds = 4;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// A large tensor of which each iteration of a kernel reads or computes an
/// element.
struct Access {
  unsigned buffer;
  int64_t bytes, elements;
  AffineMap map;
  bool isRead;
};

/// The loop nest of a node, and its accesses: none if it is not a kernel, and
/// products are not.
struct Kernel {
  bool isSum = false;
  SmallVector<int64_t> sizes;
  SmallVector<Access, 4> accesses;

  bool isMap() const { return !accesses.empty() && !isSum; }
  /// Returns true if both kernels could be one loop with these accesses. Sums
  /// may have more loops: chunks of those of the other.
  bool mayShareLoop(const Access &own, const Kernel &other,
                    const Access &others) const {
    if (isSum || other.isSum)
      return own.elements == others.elements;
    return sizes == other.sizes && own.map == others.map;
  }
};
} // namespace

static Kernel getKernel(const Node &node, const BlockGraph &graph) {
  Kernel kernel;
  auto op = dyn_cast<LinalgOp>(node.ops.back());
  if (!op || !node.isPure || op->getNumOperands() > kMaxOperands ||
      !op.hasPureTensorSemantics())
    return kernel;
  kernel.sizes = op.getStaticLoopRanges();
  if (llvm::any_of(kernel.sizes, ShapedType::isDynamic) || isProduct(op))
    return kernel;
  kernel.isSum = !isParallel(op);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isRead = op.isDpsInput(&operand);
    Value tensor = isRead ? operand.get() : op.getTiedOpResult(&operand);
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    std::optional<unsigned> buffer = graph.getBuffer(tensor);
    if (type && buffer && map.isPermutation() &&
        estimateBytes(type) >= kLeastBytes)
      kernel.accesses.push_back(
          {*buffer, estimateBytes(type), type.getNumElements(), map, isRead});
  }
  return kernel;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class LocalityImprover {
public:
  LocalityImprover(Block &block, const DenseSet<Operation *> &forward,
                   NestedPeaks &nestedPeaks, int64_t alignment)
      : block(block), forward(forward), alignment(alignment),
        graph(block, nestedPeaks.estimate(block)),
        remaining(graph.getBuffers().size()) {
    for (const Node &node : graph.getNodes()) {
      unsigned index = order.size();
      order.push_back(index);
      position.push_back(index);
      dependences.emplace_back(node.dependences.begin(),
                               node.dependences.end());
      kernels.push_back(getKernel(node, graph));
    }
    for (const TensorBuffer &buffer : graph.getBuffers()) {
      lastUse.push_back(buffer.users.empty() ? 0 : buffer.users.back());
      remaining[lastUse.size() - 1] = buffer.users.size();
    }
    int64_t live = 0;
    for (unsigned index : order) {
      liveBefore.push_back(live);
      limit.raise(measure(index, live));
    }
    limit.lower(kMarginOfPeak);
  }

  /// Returns true if anything changed.
  bool run() {
    // Room is scarce: those first that save most.
    SmallVector<Sharer> wanted;
    for (unsigned index = 0; index < graph.getNodes().size(); ++index)
      if (int64_t bytes = countShared(index))
        wanted.push_back({index, bytes});
    llvm::stable_sort(wanted, [](const Sharer &a, const Sharer &b) {
      return a.bytes > b.bytes;
    });
    bool changed = false;
    for (const Sharer &kernel : wanted)
      changed |= moveToSharers(kernel.node);
    if (!changed)
      return false;
    for (unsigned index : order)
      for (Operation *op : graph.getNodes()[index].ops)
        op->moveBefore(&block, block.end());
    return true;
  }

private:
  /// Bytes alive at once, with and without workspaces: how much of these a
  /// library will want is a guess.
  struct Alive {
    int64_t all = 0, tensors = 0;

    void raise(const Alive &other) {
      all = std::max(all, other.all);
      tensors = std::max(tensors, other.tensors);
    }
    void lower(int64_t fraction) {
      all -= all / fraction;
      tensors -= tensors / fraction;
    }
    bool exceeds(const Alive &other) const {
      return all > other.all || tensors > other.tensors;
    }
  };

  /// Returns the bytes that are live while `node` runs, with and without its
  /// workspace; see `BlockGraph::run`.
  Alive measure(unsigned node, int64_t &live) {
    int64_t all = graph.run(node, alignment, live, remaining);
    return {all, all - int64_t(llvm::alignTo(graph.getNodes()[node].workspace,
                                             alignment))};
  }

  /// A kernel, and how many bytes of another one's operands it reads.
  struct Sharer {
    unsigned node;
    int64_t bytes;
  };

  bool isForward(unsigned index) const {
    return forward.contains(graph.getNodes()[index].ops.back());
  }

  /// The last kernels in front of `index`, on its side of the border, that read
  /// the same large tensors, or make them; those that share most first.
  SmallVector<Sharer> findSharers(unsigned index) const {
    SmallVector<Sharer> sharers;
    llvm::SmallDenseSet<unsigned, 8> seen;
    for (const Access &access : kernels[index].accesses) {
      if (!access.isRead || !seen.insert(access.buffer).second)
        continue;
      std::optional<unsigned> last = findLastSharer(index, access);
      if (!last)
        continue;
      auto *known = llvm::find_if(
          sharers, [&](const Sharer &sharer) { return sharer.node == *last; });
      if (known != sharers.end())
        known->bytes += access.bytes;
      else
        sharers.push_back({*last, access.bytes});
    }
    llvm::stable_sort(sharers, [](const Sharer &a, const Sharer &b) {
      return a.bytes > b.bytes;
    });
    return sharers;
  }

  std::optional<unsigned> findLastSharer(unsigned index,
                                         const Access &access) const {
    std::optional<unsigned> last;
    // Those that stood near it at first, of perhaps thousands.
    ArrayRef<unsigned> users = graph.getBuffers()[access.buffer].users;
    const unsigned *begin =
        llvm::lower_bound(users, index - std::min(index, kMaxDistance));
    const unsigned *end = llvm::upper_bound(users, index + kMaxDistance);
    for (unsigned user : llvm::make_range(begin, end)) {
      if (position[user] >= position[index] ||
          position[user] + kMaxDistance < position[index] ||
          (last && position[user] < position[*last]) ||
          isForward(user) != isForward(index))
        continue;
      if (llvm::any_of(kernels[user].accesses, [&](const Access &other) {
            return other.buffer == access.buffer &&
                   kernels[user].mayShareLoop(other, kernels[index], access);
          }))
        last = user;
    }
    return last;
  }

  /// Returns true if all nodes between the two take neither time nor memory, or
  /// are kernels that others have been moved to.
  bool areSideBySide(unsigned first, unsigned second) const {
    for (unsigned at = position[first] + 1; at < position[second]; ++at)
      if (!graph.getNodes()[order[at]].isFree && !together.contains(order[at]))
        return false;
    return true;
  }

  int64_t countShared(unsigned index) {
    SmallVector<Sharer> sharers = findSharers(index);
    return sharers.empty() ? 0 : sharers.front().bytes;
  }

  bool moveToSharers(unsigned index) {
    for (const Sharer &sharer : findSharers(index)) {
      if (areSideBySide(sharer.node, index) || hoist(sharer.node, index) ||
          sink(sharer.node, index)) {
        together.insert(sharer.node);
        together.insert(index);
        return true;
      }
    }
    return false;
  }

  /// Returns true if `barrier` waits for `dependence`, and does not read it.
  bool onlyWaitsFor(unsigned barrier, unsigned dependence) const {
    auto op = dyn_cast<BarrierOp>(graph.getNodes()[barrier].ops.back());
    if (!op)
      return false;
    for (Value value : op.getValues()) {
      std::optional<unsigned> buffer = graph.getBuffer(value);
      if (value.getDefiningOp() == graph.getNodes()[dependence].ops.back() ||
          (buffer && graph.writes(dependence, *buffer)))
        return false;
    }
    return true;
  }

  /// Returns `index` and the nodes after `from` that it depends on, in their
  /// order; std::nullopt if one of these takes time or memory.
  std::optional<SmallVector<unsigned>> findNeeded(unsigned index,
                                                  unsigned from) const {
    llvm::SmallSetVector<unsigned, 8> needed;
    needed.insert(index);
    for (unsigned i = 0; i < needed.size(); ++i)
      for (unsigned dependence : dependences[needed[i]]) {
        if (position[dependence] <= position[from] ||
            onlyWaitsFor(needed[i], dependence))
          continue;
        if (!graph.getNodes()[dependence].isFree)
          return std::nullopt;
        needed.insert(dependence);
      }
    SmallVector<unsigned> sorted = needed.takeVector();
    llvm::sort(sorted, [&](unsigned a, unsigned b) {
      return position[a] < position[b];
    });
    return sorted;
  }

  /// Moves `index` and the nodes that it depends on after `first`.
  bool hoist(unsigned first, unsigned index) {
    // It has been placed next to another one.
    if (together.contains(index))
      return false;
    std::optional<SmallVector<unsigned>> needed = findNeeded(index, first);
    if (!needed)
      return false;
    SmallVector<unsigned> window{first};
    llvm::append_range(window, *needed);
    llvm::SmallDenseSet<unsigned> moved(needed->begin(), needed->end());
    for (unsigned at = position[first] + 1; at <= position[index]; ++at)
      if (!moved.contains(order[at]))
        window.push_back(order[at]);
    if (!apply(position[first], window))
      return false;
    for (unsigned node : *needed)
      waitFor(node, first);
    return true;
  }

  /// Returns true if `map` is a kernel without sums, whose result `index` or
  /// one of the views `between` reads: both may be one loop.
  bool feeds(unsigned map, unsigned index, ArrayRef<unsigned> between) const {
    auto needs = [&](unsigned node) {
      return llvm::is_contained(dependences[node], map);
    };
    return kernels[map].isMap() &&
           (needs(index) || llvm::any_of(between, needs));
  }

  /// Moves `first` before `index`, and the nodes that depend on it after both
  /// and the kernels that were moved to `index`.
  bool sink(unsigned first, unsigned index) {
    if (together.contains(first))
      return false;
    llvm::SmallSetVector<unsigned, 8> moved;
    moved.insert(first);
    auto isBehind = [&](unsigned node) {
      return llvm::any_of(dependences[node], [&](unsigned dependence) {
        return moved.contains(dependence);
      });
    };
    SmallVector<unsigned> window;
    for (unsigned at = position[first] + 1; at < position[index]; ++at) {
      if (isBehind(order[at]))
        moved.insert(order[at]);
      else
        window.push_back(order[at]);
    }
    if (isBehind(index))
      return false;
    size_t place = window.size();
    while (place > 0 && (graph.getNodes()[window[place - 1]].isFree ||
                         feeds(window[place - 1], index,
                               ArrayRef(window).drop_front(place))))
      --place;
    window.insert(window.begin() + place, first);
    unsigned end =
        std::min<size_t>(order.size(), position[index] + kMaxDistance);
    for (unsigned at = position[index]; at < end; ++at) {
      unsigned node = order[at];
      if (node != index &&
          ((!graph.getNodes()[node].isFree && !together.contains(node)) ||
           isBehind(node)))
        break;
      window.push_back(node);
    }
    llvm::append_range(window, ArrayRef(moved.getArrayRef()).drop_front());
    return apply(position[first], window);
  }

  /// Puts `window`, the nodes from `begin` on, in this order, unless too many
  /// bytes would be live.
  bool apply(unsigned begin, ArrayRef<unsigned> window) {
    unsigned end = begin + window.size();
    for (unsigned node : window)
      for (unsigned buffer : graph.getNodes()[node].buffers)
        remaining[buffer] = lastUse[buffer] >= end;
    for (unsigned node : window)
      for (unsigned buffer : graph.getNodes()[node].buffers)
        ++remaining[buffer];
    int64_t live = liveBefore[begin];
    SmallVector<int64_t> newLive;
    for (unsigned node : window) {
      newLive.push_back(live);
      if (measure(node, live).exceeds(limit))
        return false;
    }
    for (auto [i, node] : llvm::enumerate(window)) {
      order[begin + i] = node;
      position[node] = begin + i;
      liveBefore[begin + i] = newLive[i];
      for (unsigned buffer : graph.getNodes()[node].buffers)
        if (lastUse[buffer] < end)
          lastUse[buffer] = begin + i;
    }
    return true;
  }

  /// Makes `node`, if it is a barrier that has moved after `first`, wait for
  /// `first` in place of values that are computed later now.
  void waitFor(unsigned node, unsigned first) {
    auto barrier = dyn_cast<BarrierOp>(graph.getNodes()[node].ops.back());
    if (!barrier)
      return;
    llvm::erase_if(dependences[node], [&](unsigned dependence) {
      return position[dependence] > position[node];
    });
    dependences[node].push_back(first);
    barrier.getAfterMutable().assign(
        graph.getNodes()[first].ops.back()->getResult(0));
  }

  Block &block;
  const DenseSet<Operation *> &forward;
  int64_t alignment;
  BlockGraph graph;
  /// Of each node.
  std::vector<Kernel> kernels;
  /// At most this may be live where a move changes the order.
  Alive limit;
  /// The nodes as they will stand, where each of them is, and the bytes that
  /// are alive in front of each place.
  SmallVector<unsigned> order, position;
  SmallVector<int64_t> liveBefore;
  /// Of each buffer, the place of its last user.
  SmallVector<unsigned> lastUse;
  /// As the graph has them, but for barriers that have moved.
  std::vector<SmallVector<unsigned, 4>> dependences;
  /// Scratch memory, one for each buffer.
  SmallVector<unsigned> remaining;
  DenseSet<unsigned> together;
};

struct ImproveLocalityPass
    : mlir::remat::impl::ImproveLocalityPassBase<ImproveLocalityPass> {
  using ImproveLocalityPassBase::ImproveLocalityPassBase;

  void runOnOperation() override {
    if (failed(checkAlignment(getOperation(), alignment)))
      return signalPassFailure();
    bool changed = false;
    NestedPeaks nestedPeaks(alignment);
    getOperation()->walk([&](func::FuncOp function) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock())
        return;
      DenseSet<Operation *> forward = findForward(function);
      function.walk([&](Block *inner) {
        if (isa<func::FuncOp, scf::ForOp, scf::IfOp, scf::WhileOp,
                scf::ExecuteRegionOp>(inner->getParentOp()))
          for (unsigned round = 0;
               round < kMaxRounds &&
               LocalityImprover(*inner, forward, nestedPeaks, alignment).run();
               ++round)
            changed = true;
      });
      nestedPeaks.forget(function);
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
