//===- RepeatAtPeak.cpp - Recompute values that are live at the peak ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer that is recomputed for its backward computes the operands of its
// products, and reads them once more for the gradients of their weights: a
// norm's result stays live while the largest tensors come and go. Its operands
// are live all the time. So may be those of a product.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Schedule/Passes.h"

#include "BlockGraph.h"
#include "remat/Analysis/BackwardBorder.h"
#include "remat/Analysis/Cost.h"
#include "remat/Transforms/Schedule/Destination.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::remat {
#define GEN_PASS_DEF_REPEATATPEAKPASS
#include "remat/Transforms/Schedule/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

namespace {
/// A value that is live at the peak only because of a use after it.
struct Waiting {
  unsigned buffer;
  /// The node that computes it, and its first user after the peak.
  unsigned maker, reader;
  /// Nodes from whose results it is computed, and which are recomputed with it.
  SmallVector<unsigned, 1> before;
  int64_t time;
};

/// The operations of a repetition, and the uses to restore when it is undone.
struct Repetition {
  SmallVector<Operation *> ops;
  SmallVector<std::pair<OpOperand *, Value>> uses;
};
} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns true if the body of `op` extracts elements or has nested operations:
/// it does not stream memory.
static bool picksElements(Operation *op) {
  return isa<LinalgOp>(op) &&
         op->walk([&](Operation *nested) {
             return isa<tensor::ExtractOp>(nested) ||
                            (nested != op && nested->getNumRegions() != 0)
                        ? WalkResult::interrupt()
                        : WalkResult::advance();
           }).wasInterrupted();
}

/// Returns the operation that computes the buffer of `node` and may be
/// repeated: an elementwise one, or, with `products`, any. Null otherwise.
static DestinationStyleOpInterface getRepeatable(const Node &node,
                                                 bool products) {
  auto op = dyn_cast<DestinationStyleOpInterface>(node.ops.back());
  if (!op || !node.isPure || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics() ||
      !cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape() ||
      picksElements(op))
    return {};
  Operation *destination = op.getDpsInits()[0].getDefiningOp();
  bool isDestination = isEmptyTensor(destination) ||
                       (isa_and_nonnull<linalg::FillOp>(destination) &&
                        llvm::is_contained(node.ops, destination));
  return isDestination && (products || isParallel(op))
             ? op
             : DestinationStyleOpInterface();
}

/// Returns the value that `value` is a view of, through all views but barriers,
/// which keep an order.
static Value skipViews(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Value viewed = getViewedTensor(result);
    if (!viewed || isa<BarrierOp>(result.getOwner()))
      break;
    value = viewed;
  }
  return value;
}

namespace {
/// The inputs of a repeated computation, which have to be live or recomputed.
class Inputs {
public:
  /// `forward` is not recomputed. With `deep`, inputs that are not live may be
  /// recomputed, too.
  Inputs(const BlockGraph &graph, const DenseSet<Operation *> &forward,
         unsigned reader, bool deep)
      : graph(graph), forward(forward), reader(reader), deep(deep) {}

  /// Adds the inputs of `op`, of the node `maker`. Fails if more than `limit`
  /// bytes are live longer when it is repeated for `reader`, or if one of them
  /// is overwritten in between.
  LogicalResult addAll(DestinationStyleOpInterface op, unsigned maker,
                       int64_t limit) {
    SetVector<Value> inputs(llvm::from_range, op.getDpsInputs());
    getUsedValuesDefinedAbove(op->getRegions(), inputs);
    int64_t bytes = 0;
    for (Value input : inputs) {
      if (!isa<TensorType>(input.getType()))
        continue;
      std::optional<unsigned> number = graph.getBuffer(input);
      if (!number)
        return failure();
      const TensorBuffer &buffer = graph.getBuffers()[*number];
      if (llvm::any_of(buffer.users, [&](unsigned user) {
            return maker < user && user < reader && graph.writes(user, *number);
          }))
        return failure();
      if (buffer.users.back() < reader && seen.insert(*number).second &&
          !(deep && makeAgain(input, *number)))
        bytes += buffer.bytes;
      // Other inputs, and what those are computed from, would be visited for
      // nothing, once for each path that leads there.
      if (bytes > limit)
        return failure();
    }
    return success();
  }

  /// Returns the nodes that are recomputed, in their order.
  ArrayRef<unsigned> getMakers() const { return makers; }

private:
  /// Adds the producer of `value` if its recomputation needs live values only.
  /// Returns false if it does not.
  bool makeAgain(Value value, unsigned number) {
    const TensorBuffer &buffer = graph.getBuffers()[number];
    unsigned maker = buffer.users.front();
    const Node &node = graph.getNodes()[maker];
    DestinationStyleOpInterface op = getRepeatable(node, /*products=*/true);
    if (!op || forward.contains(op) || skipViews(value).getDefiningOp() != op ||
        !llvm::is_contained(node.created, number) ||
        llvm::any_of(buffer.users, [&](unsigned user) {
          return user != maker && graph.writes(user, number);
        }))
      return false;
    size_t before = makers.size();
    DenseSet<unsigned> seenBefore = seen;
    if (failed(addAll(op, maker, /*limit=*/0))) {
      makers.truncate(before);
      seen = std::move(seenBefore);
      return false;
    }
    makers.push_back(maker);
    return true;
  }

  const BlockGraph &graph;
  const DenseSet<Operation *> &forward;
  unsigned reader;
  bool deep;
  DenseSet<unsigned> seen;
  SmallVector<unsigned, 2> makers;
};
} // namespace

/// Returns the value in buffer `number` as one that is live at `peak` without a
/// use there, if it may be repeated after it. The plan has decided about values
/// of the forward.
static std::optional<Waiting> getWaiting(const BlockGraph &graph,
                                         const DenseSet<Operation *> &forward,
                                         unsigned number, unsigned peak,
                                         bool products) {
  const TensorBuffer &buffer = graph.getBuffers()[number];
  if (buffer.bytes == 0 || buffer.users.size() < 2)
    return std::nullopt;
  unsigned maker = buffer.users.front();
  const auto *reader = llvm::upper_bound(buffer.users, peak);
  if (maker >= peak || reader == buffer.users.end() || *(reader - 1) == peak)
    return std::nullopt;
  const Node &node = graph.getNodes()[maker];
  DestinationStyleOpInterface op = getRepeatable(node, products);
  if (!op || forward.contains(op) ||
      !llvm::is_contained(node.created, number) ||
      llvm::any_of(buffer.users,
                   [&](unsigned user) { return graph.writes(user, number); }))
    return std::nullopt;
  // A repetition without operands could not be kept apart from the original.
  if (llvm::none_of(op.getDpsInputs(), [](Value input) {
        return isa<TensorType>(input.getType());
      }))
    return std::nullopt;
  Waiting waiting{number, maker, *reader, {}, estimateTime(op)};
  Inputs inputs(graph, forward, *reader, /*deep=*/products);
  if (failed(inputs.addAll(op, maker, /*limit=*/buffer.bytes / 2)))
    return std::nullopt;
  waiting.before.append(inputs.getMakers().begin(), inputs.getMakers().end());
  for (unsigned before : waiting.before)
    waiting.time += estimateTime(graph.getNodes()[before].ops.back());
  return waiting;
}

/// Returns the operand of `op` that is computed last before `place`, of those
/// that are not in `except`.
static Value getLatest(Operation *op, Operation *place,
                       ArrayRef<Value> except) {
  Value latest;
  for (Value operand : op->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (!definition || definition->getBlock() != place->getBlock() ||
        !definition->isBeforeInBlock(place) || isEmptyTensor(definition) ||
        definition->hasTrait<OpTrait::ConstantLike>() ||
        llvm::is_contained(except, operand))
      continue;
    if (!latest || latest.getDefiningOp()->isBeforeInBlock(definition))
      latest = operand;
  }
  return latest;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Repeats the computation of `waiting` before its first user after the peak.
/// Returns std::nullopt if a view of it cannot be repeated.
static std::optional<Repetition> repeat(const BlockGraph &graph,
                                        const Waiting &waiting) {
  const Node &node = graph.getNodes()[waiting.maker];
  // Before the user's destination, if that is after the first computation.
  ArrayRef<Operation *> reader = graph.getNodes()[waiting.reader].ops;
  Operation *place = *llvm::find_if(reader, [&](Operation *op) {
    return node.ops.back()->isBeforeInBlock(op);
  });
  Block *block = place->getBlock();
  auto isLate = [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return ancestor == place || place->isBeforeInBlock(ancestor);
  };
  // The value and its views before `place`, and their uses after it.
  Repetition repetition;
  SmallVector<Value> values = {node.ops.back()->getResult(0)};
  SmallVector<Operation *> views;
  for (unsigned i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (isLate(user)) {
        repetition.uses.emplace_back(&use, use.get());
        continue;
      }
      if (user->getBlock() != block || user->getNumResults() != 1 ||
          getViewedTensor(user->getResult(0)) != use.get())
        continue;
      if (isa<BarrierOp>(user))
        return std::nullopt;
      views.push_back(user);
      values.push_back(user->getResult(0));
    }
  if (repetition.uses.empty())
    return std::nullopt;

  OpBuilder builder(place);
  IRMapping mapping;
  Location loc = node.ops.back()->getLoc();
  SmallVector<const Node *, 2> again;
  for (unsigned before : waiting.before)
    again.push_back(&graph.getNodes()[before]);
  again.push_back(&node);
  DenseSet<Operation *> remade;
  SetVector<Value> inputs;
  auto isRemade = [&](Value value) {
    return remade.contains(skipViews(value).getDefiningOp());
  };
  for (const Node *part : again) {
    auto op = cast<DestinationStyleOpInterface>(part->ops.back());
    for (Value input : op.getDpsInputs())
      if (isa<TensorType>(input.getType()) && !isRemade(input))
        inputs.insert(input);
    remade.insert(op);
  }
  // Otherwise it would be the same computation as the first one.
  Value latest = getLatest(reader.back(), place, values);
  repetition.ops.push_back(
      createGuard(builder, loc, inputs.getArrayRef(),
                  latest ? ValueRange(latest) : ValueRange(), mapping,
                  /*repeated=*/true));
  std::function<void(Value)> viewAgain = [&](Value value) {
    if (mapping.contains(value) || !isRemade(value))
      return;
    viewAgain(getViewedTensor(cast<OpResult>(value)));
    repetition.ops.push_back(builder.clone(*value.getDefiningOp(), mapping));
  };
  for (const Node *part : again) {
    for (Value input :
         cast<DestinationStyleOpInterface>(part->ops.back()).getDpsInputs())
      viewAgain(input);
    for (Operation *op : part->ops)
      repetition.ops.push_back(cloneRecompute(
          builder, op, mapping,
          op == part->ops.back() ? StringRef(kRecomputePhase) : ""));
  }
  size_t numRepeated = repetition.ops.size();
  SmallVector<Operation *> repeatedViews;
  for (Operation *view : views)
    repeatedViews.push_back(builder.clone(*view, mapping));
  for (auto [use, value] : repetition.uses)
    use->set(mapping.lookup(value));
  for (Operation *view : llvm::reverse(repeatedViews))
    if (view->use_empty())
      view->erase();
    else
      repetition.ops.insert(repetition.ops.begin() + numRepeated, view);
  return repetition;
}

static void takeOut(const Repetition &repetition) {
  for (auto [use, value] : repetition.uses)
    use->set(value);
  for (Operation *op : llvm::reverse(repetition.ops))
    op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class Repeater {
public:
  /// `bytes` are alive around `block`, which is part of the function of which
  /// `forward` is the forward.
  Repeater(Block &block, const DenseSet<Operation *> &forward, int64_t bytes,
           NestedPeaks &nestedPeaks, int64_t alignment)
      : block(block), forward(forward), bytesAround(bytes),
        alignment(alignment), nestedPeaks(nestedPeaks.estimate(block)) {}

  /// Returns true if anything changed.
  bool run() {
    for (Operation &op : block) {
      // The pass has run on this block before.
      if (auto barrier = dyn_cast<BarrierOp>(op);
          barrier && barrier.getRepeated())
        return false;
      time += estimateTime(&op);
    }
    BlockGraph graph(block, nestedPeaks);
    improve(graph, /*products=*/false, time / kTimeFraction, kLeastGain);
    // Otherwise the block is as it was.
    if (!repetitions.empty())
      graph = BlockGraph(block, nestedPeaks);
    improve(graph, /*products=*/true, time / kTimeFractionOfProducts,
            kLeastGainOfProducts);
    return !repetitions.empty();
  }

  /// Returns the body of the loop that runs at the peak, with the bytes that
  /// are live around it; null if no loop does.
  std::pair<Block *, int64_t> findLoopAtPeak() const {
    if (nestedPeaks.empty())
      return {};
    BlockGraph graph(block, nestedPeaks);
    auto [bytes, peak] = graph.estimatePeak(alignment);
    const Node &node = graph.getNodes()[peak];
    auto loop = dyn_cast<scf::ForOp>(node.ops.back());
    if (!loop)
      return {};
    return {loop.getBody(), bytesAround + bytes - node.nestedPeak};
  }

private:
  /// Repetitions take at most one part in this many of the block's time.
  static constexpr int64_t kTimeFraction = 64;
  static constexpr int64_t kTimeFractionOfProducts = 32;
  /// They lower the peak by at least one part in this many.
  static constexpr int64_t kLeastGain = 64;
  static constexpr int64_t kLeastGainOfProducts = 16;
  /// A repetition that takes a part of the time has to save so many times that
  /// part of the peak.
  static constexpr double kGainOfTime = 2;
  /// A peak for each of the last layers: earlier ones have fewer residuals.
  static constexpr unsigned kMaxRounds = 24;

  /// Repeats values that are live at one peak after another, and undoes the
  /// last repetitions if they did not lower the highest peak enough, or all if
  /// it fell by less than a part in `leastGain`. `graph` is that of the block.
  void improve(const BlockGraph &graph, bool products, int64_t budget,
               int64_t leastGain) {
    int64_t left = budget, paid = budget;
    size_t before = repetitions.size(), useful = before;
    auto [bytes, peak] = graph.estimatePeak(alignment);
    int64_t first = bytesAround + bytes, lowest = first;
    DenseSet<Operation *> vain;
    std::optional<BlockGraph> changed;
    for (unsigned round = 0; round < kMaxRounds; ++round) {
      int64_t leftBefore = left;
      Operation *last =
          repeatAcross(changed ? *changed : graph, peak, products, vain, left);
      if (!last)
        break;
      BlockGraph next(block, nestedPeaks);
      auto [nextBytes, nextPeak] = next.estimatePeak(alignment);
      // A product that makes a higher peak where it is repeated.
      if (products && nextBytes > bytes) {
        vain.insert(last);
        takeOut(repetitions.pop_back_val());
        left = leftBefore;
        continue;
      }
      changed.emplace(std::move(next));
      bytes = nextBytes;
      peak = nextPeak;
      int64_t now = bytesAround + bytes;
      if (now < lowest &&
          double(lowest - now) / first >= kGainOfTime * (paid - left) / time) {
        lowest = now;
        paid = left;
        useful = repetitions.size();
      }
    }
    if (first - lowest < first / leastGain)
      useful = before;
    while (repetitions.size() > useful)
      takeOut(repetitions.pop_back_val());
  }

  /// Repeats values that are live at the peak without a use there, other than
  /// results of `vain`. Returns the producer of the last one, or null.
  Operation *repeatAcross(const BlockGraph &graph, unsigned peak, bool products,
                          const DenseSet<Operation *> &vain, int64_t &budget) {
    SmallVector<Waiting> found;
    for (unsigned number = 0; number < graph.getBuffers().size(); ++number)
      if (std::optional<Waiting> waiting =
              getWaiting(graph, forward, number, peak, products))
        found.push_back(*waiting);
    // The time of elementwise kernels hardly matters. Of products, those first
    // that free most for it.
    auto getValue = [&](const Waiting &waiting) {
      double bytes = graph.getBuffers()[waiting.buffer].bytes;
      return products ? bytes / waiting.time : bytes;
    };
    llvm::sort(found, [&](const Waiting &a, const Waiting &b) {
      return std::pair(getValue(b), a.buffer) <
             std::pair(getValue(a), b.buffer);
    });
    DenseSet<unsigned> repeated;
    Operation *last = nullptr;
    for (const Waiting &waiting : found) {
      // One product may lower this peak below the next one.
      if (products && last)
        break;
      // A user of a value must not be repeated along with that value.
      auto op = cast<DestinationStyleOpInterface>(
          graph.getNodes()[waiting.maker].ops.back());
      bool readsRepeated = llvm::any_of(op.getDpsInputs(), [&](Value input) {
        std::optional<unsigned> buffer = graph.getBuffer(input);
        return buffer && repeated.contains(*buffer);
      });
      if (readsRepeated || waiting.time > budget || vain.contains(op))
        continue;
      std::optional<Repetition> repetition = repeat(graph, waiting);
      if (!repetition)
        continue;
      budget -= waiting.time;
      repetitions.push_back(std::move(*repetition));
      repeated.insert(waiting.buffer);
      last = op;
    }
    return last;
  }

  Block &block;
  const DenseSet<Operation *> &forward;
  int64_t bytesAround;
  int64_t alignment;
  /// Of the block without repetitions.
  int64_t time = 0;
  DenseMap<Operation *, int64_t> nestedPeaks;
  SmallVector<Repetition, 0> repetitions;
};

struct RepeatAtPeakPass
    : mlir::remat::impl::RepeatAtPeakPassBase<RepeatAtPeakPass> {
  using RepeatAtPeakPassBase::RepeatAtPeakPassBase;

  void runOnOperation() override {
    if (failed(checkAlignment(getOperation(), alignment)))
      return signalPassFailure();
    auto module = dyn_cast<ModuleOp>(getOperation());
    if (module && hasBudget(module))
      return markAllAnalysesPreserved();
    bool changed = false;
    NestedPeaks nestedPeaks(alignment);
    getOperation()->walk([&](func::FuncOp function) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock())
        return;
      DenseSet<Operation *> forward = findForward(function);
      Block *block = &function.front();
      for (int64_t bytes = 0; block;) {
        Repeater repeater(*block, forward, bytes, nestedPeaks, alignment);
        changed |= repeater.run();
        std::tie(block, bytes) = repeater.findLoopAtPeak();
      }
      nestedPeaks.forget(function);
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
