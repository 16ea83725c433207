//===- Schedule.cpp - Less alive at once ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiation and recomputation emit operations where it is simple to emit
// them. Where they run decides how long their operands and results occupy
// memory.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Schedule/Passes.h"

#include "BlockGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <deque>

namespace mlir::remat {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "remat/Transforms/Schedule/Passes.h.inc"

namespace {

using Order = SmallVector<unsigned>;

//===----------------------------------------------------------------------===//
// Late: sink what makes more than it frees
//===----------------------------------------------------------------------===//

bool shouldSink(const BlockGraph &graph, unsigned index) {
  const Node &node = graph.getNodes()[index];
  if (!node.isPure || node.created.empty() || node.nestedPeak != 0)
    return false;
  int64_t balance = 0;
  for (unsigned buffer : node.created)
    balance += graph.getBuffers()[buffer].bytes;
  // Operands without other users live longer if the operation runs later.
  for (unsigned buffer : node.buffers)
    if (!llvm::is_contained(node.created, buffer) &&
        graph.getBuffers()[buffer].users.size() <= 2)
      balance -= graph.getBuffers()[buffer].bytes;
  return balance > 0;
}

Order sink(const BlockGraph &graph, ArrayRef<unsigned> base) {
  ArrayRef<Node> nodes = graph.getNodes();
  Order order;
  SmallVector<unsigned> position(nodes.size());
  for (auto [place, index] : llvm::enumerate(base))
    position[index] = place;
  SmallVector<bool> isDone(nodes.size(), false);
  SmallVector<unsigned> stack;
  for (unsigned root : base) {
    if (isDone[root] ||
        (shouldSink(graph, root) && !nodes[root].dependents.empty()))
      continue;
    stack.push_back(root);
    while (!stack.empty()) {
      unsigned index = stack.back();
      if (isDone[index]) {
        stack.pop_back();
        continue;
      }
      SmallVector<unsigned> missing;
      for (unsigned dependence : nodes[index].dependences)
        if (!isDone[dependence])
          missing.push_back(dependence);
      if (missing.empty()) {
        isDone[index] = true;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      // Those that stand first in `base` run first.
      llvm::sort(missing, [&](unsigned a, unsigned b) {
        return position[a] > position[b];
      });
      llvm::append_range(stack, missing);
    }
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Early: run what frees more than it makes
//===----------------------------------------------------------------------===//

class EagerScheduler {
public:
  /// Nodes that are `kept` run where `base` has them only.
  EagerScheduler(const BlockGraph &graph, ArrayRef<unsigned> base,
                 const llvm::BitVector &kept)
      : graph(graph), base(base), missing(graph.getNodes().size()),
        isDone(missing.size(), false) {
    for (auto [index, node] : llvm::enumerate(graph.getNodes()))
      missing[index] = node.dependences.size() + kept.test(index);
    for (const TensorBuffer &buffer : graph.getBuffers())
      remaining.push_back(buffer.users.size());
  }

  Order run() {
    for (unsigned index : base)
      if (!isDone[index]) {
        emit(index);
        runCandidates();
      }
    return std::move(order);
  }

private:
  /// No longer chain of operations than this is looked at: a gradient, what
  /// scales or clips it, its update.
  static constexpr unsigned maxChain = 4;

  void emit(unsigned index) {
    isDone[index] = true;
    order.push_back(index);
    const Node &node = graph.getNodes()[index];
    for (unsigned buffer : node.buffers)
      if (--remaining[buffer] == 1)
        for (unsigned user : graph.getBuffers()[buffer].users)
          if (!isDone[user])
            addCandidate(user);
    for (unsigned dependent : node.dependents)
      if (--missing[dependent] == 0)
        addCandidate(dependent);
  }

  void addCandidate(unsigned index) {
    if (missing[index] == 0)
      candidates.push_back(index);
  }

  void runCandidates() {
    while (!candidates.empty()) {
      unsigned index = candidates.front();
      candidates.pop_front();
      if (isDone[index] || missing[index] != 0)
        continue;
      const Node &node = graph.getNodes()[index];
      if (!node.isPure)
        continue;
      if (node.isFree)
        emit(index);
      else
        for (unsigned member : getFreeingChain(index))
          emit(member);
    }
  }

  /// Bytes made minus bytes freed by running `index` after `chain`.
  int64_t getBalance(unsigned index, ArrayRef<unsigned> chain) const {
    const Node &node = graph.getNodes()[index];
    int64_t balance = 0;
    for (unsigned buffer : node.created)
      balance += graph.getBuffers()[buffer].bytes;
    for (unsigned buffer : node.buffers) {
      unsigned left = remaining[buffer] - 1;
      for (unsigned member : chain)
        left -= llvm::is_contained(graph.getNodes()[member].buffers, buffer);
      if (left == 0)
        balance -= graph.getBuffers()[buffer].bytes;
    }
    return balance;
  }

  /// The shortest chain from `start` that frees more than it makes, each
  /// waiting for the one before only; empty if there is none.
  SmallVector<unsigned> getFreeingChain(unsigned start) const {
    SmallVector<unsigned> chain;
    int64_t balance = 0;
    unsigned index = start;
    while (chain.size() < maxChain) {
      balance += getBalance(index, chain);
      chain.push_back(index);
      if (balance < 0)
        return chain;
      std::optional<unsigned> next;
      for (unsigned dependent : graph.getNodes()[index].dependents)
        if (missing[dependent] == 1 && graph.getNodes()[dependent].isPure)
          next = next ? next : dependent;
      if (!next)
        break;
      index = *next;
    }
    return {};
  }

  const BlockGraph &graph;
  ArrayRef<unsigned> base;
  Order order;
  SmallVector<unsigned> missing;
  SmallVector<bool> isDone;
  SmallVector<unsigned> remaining;
  std::deque<unsigned> candidates;
};

//===----------------------------------------------------------------------===//
// Updates last
//===----------------------------------------------------------------------===//

/// Updates, and what depends on them, but for the terminator: all that could
/// wait until the rest has run.
llvm::BitVector findUpdates(const BlockGraph &graph) {
  ArrayRef<Node> nodes = graph.getNodes();
  llvm::BitVector updates(nodes.size());
  for (unsigned index = 0; index + 1 < nodes.size(); ++index)
    if (nodes[index].isUpdate ||
        llvm::any_of(nodes[index].dependences, [&](unsigned dependence) {
          return updates.test(dependence);
        }))
      updates.set(index);
  return updates;
}

/// Returns the order of the block with `last` after everything but the
/// terminator.
Order moveLast(const llvm::BitVector &last) {
  Order order;
  for (bool isLast : {false, true})
    for (unsigned index = 0; index + 1 < last.size(); ++index)
      if (last.test(index) == isLast)
        order.push_back(index);
  if (!last.empty())
    order.push_back(last.size() - 1);
  return order;
}

//===----------------------------------------------------------------------===//
// Blocks and functions
//===----------------------------------------------------------------------===//

void apply(Block &block, const BlockGraph &graph, ArrayRef<unsigned> order) {
  for (unsigned index : order)
    for (Operation *op : graph.getNodes()[index].ops)
      op->moveBefore(&block, block.end());
}

struct Estimate {
  int64_t before = 0;
  int64_t after = 0;
  /// As `after`, of buffers that are not rounded up.
  int64_t unrounded = 0;
};

class FunctionScheduler {
public:
  explicit FunctionScheduler(int64_t alignment)
      : alignment(alignment), calls(alignment), unroundedCalls(1) {}

  /// Schedules `function` after those that it calls.
  Estimate run(func::FuncOp function) {
    auto [it, isNew] = estimates.try_emplace(function);
    if (!isNew)
      return it->second;
    function.walk([&](func::CallOp call) {
      auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      if (callee && callee.getBody().hasOneBlock())
        run(callee);
    });
    Estimate estimate = run(function.front());
    return estimates[function] = estimate;
  }

private:
  Estimate run(Block &block) {
    DenseMap<Operation *, int64_t> nestedBefore, nestedPeaks, nestedUnrounded;
    // Called functions are scheduled already: one estimate for both.
    for (Operation &op : block)
      if (auto call = dyn_cast<func::CallOp>(op)) {
        nestedBefore[&op] = nestedPeaks[&op] = calls.estimate(call);
        nestedUnrounded[&op] = unroundedCalls.estimate(call);
      } else if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ExecuteRegionOp>(
                     op)) {
        for (Region &region : op.getRegions())
          for (Block &inner : region) {
            Estimate nested = run(inner);
            nestedBefore[&op] = std::max(nestedBefore[&op], nested.before);
            nestedPeaks[&op] = std::max(nestedPeaks[&op], nested.after);
            nestedUnrounded[&op] =
                std::max(nestedUnrounded[&op], nested.unrounded);
          }
      }
    BlockGraph graph(block, nestedPeaks), unrounded(block, nestedUnrounded);
    Order input;
    for (unsigned index = 0; index < graph.getNodes().size(); ++index)
      input.push_back(index);
    Estimate estimate;
    estimate.before =
        BlockGraph(block, nestedBefore).estimatePeak(input, alignment);
    // Rounded up, the peaks of small tensors are often equal. What the estimate
    // does not foresee then decides, and fewer bytes leave more room for it.
    auto getCost = [&](const Order &order) {
      return std::pair(graph.estimatePeak(order, alignment),
                       unrounded.estimatePeak(order, 1));
    };
    Order best = input;
    std::pair<int64_t, int64_t> lowest = getCost(input);
    auto consider = [&](const Order &order) {
      std::pair<int64_t, int64_t> cost = getCost(order);
      if (cost >= lowest)
        return;
      lowest = cost;
      best = order;
    };
    auto considerAround = [&](const Order &base, const llvm::BitVector &kept) {
      Order late = sink(graph, base);
      for (const Order &order :
           {base, late, EagerScheduler(graph, base, kept).run(),
            EagerScheduler(graph, late, kept).run()})
        consider(order);
    };
    considerAround(input, llvm::BitVector(input.size()));
    // Where gradients are small, keeping them costs less than what an update in
    // between breaks up.
    if (llvm::BitVector updates = findUpdates(graph); updates.any())
      considerAround(moveLast(updates), updates);
    if (best != input)
      apply(block, graph, best);
    std::tie(estimate.after, estimate.unrounded) = lowest;
    return estimate;
  }

  int64_t alignment;
  NestedPeaks calls, unroundedCalls;
  SymbolTableCollection symbols;
  DenseMap<Operation *, Estimate> estimates;
};

struct SchedulePass : public impl::SchedulePassBase<SchedulePass> {
  using SchedulePassBase::SchedulePassBase;

  void runOnOperation() override {
    if (failed(checkAlignment(getOperation(), alignment)))
      return signalPassFailure();
    FunctionScheduler scheduler(alignment);
    getOperation()->walk([&](func::FuncOp function) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock())
        return;
      Estimate estimate = scheduler.run(function);
      if (printEstimate)
        function.emitRemark("estimated peak: ")
            << estimate.before << " bytes before, " << estimate.after
            << " after scheduling";
    });
  }
};

} // namespace
} // namespace mlir::remat
