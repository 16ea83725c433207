//===- Fuse.cpp - Fuse elementwise chains into one kernel each ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only what crosses a kernel's border can become a residual. Without this pass
// every intermediate of a chain would be stored, and saved for the backward.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Decompose/Structured.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"
#include "remat/Transforms/Fuse/Passes.h"
#include "remat/Transforms/Utils/Unreachable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "remat/Analysis/BackwardBorder.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/OldValueReads.h"
#include "remat/Dialect/Remat/IR/Borders.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FUSEPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::GenericOp;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The decision about a producer and one of its users.
enum class Decision { Keep, Fuse, FuseAndKeepResults };

/// The operations that read results of `op`, in no order that matters; stops
/// after `limit`.
static SetVector<Operation *> getUsers(LinalgOp op, unsigned limit) {
  SetVector<Operation *> users;
  for (Operation *user : op->getUsers()) {
    users.insert(user);
    if (users.size() > limit)
      break;
  }
  return users;
}

/// Returns true if `producer` can disappear into `user`. Which values
/// are recomputed is the plan's business: forward producers stay in the
/// forward.
static bool canDisappearInto(LinalgOp producer, Operation *user,
                             const BackwardBorder &border,
                             const OverwrittenValues &overwritten) {
  auto consumer = dyn_cast<LinalgOp>(user);
  return consumer && !border.separates(producer, consumer) &&
         canFuseCheaply(producer, consumer, &overwritten);
}

/// Returns true if `consumer` dominates all other users of `producer`. Elements
/// that its own body extracts from there are read before it has results.
static bool isFirstUser(LinalgOp producer, LinalgOp consumer) {
  Block *block = consumer->getBlock();
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return user == consumer ||
           (ancestor && consumer->isBeforeInBlock(ancestor));
  });
}

/// Returns true if a gradient may flow through the operation.
static bool mayBeActive(LinalgOp op) {
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value));
  };
  return llvm::any_of(op->getResults(), isFloat) &&
         llvm::any_of(op.getDpsInputs(), [&](Value input) {
           return isFloat(input) && !matchPattern(input, m_Constant());
         });
}

/// How often the body of `consumer` uses elements of `producer`.
static unsigned countUses(LinalgOp producer, LinalgOp consumer) {
  unsigned numUses = 0;
  for (OpOperand *input : consumer.getDpsInputOperands())
    if (input->get().getDefiningOp() == producer)
      numUses +=
          llvm::range_size(consumer.getMatchingBlockArgument(input).getUses());
  return numUses;
}

/// A value with more users is taken to be read everywhere.
static constexpr unsigned kMaxUsesToVisit = 1000;

/// Calls `visit` for the operations that read `value`, or a value equal to it
/// (named, across borders of regions, recomputed), until it returns false.
static bool visitUsers(Value value, const EqualValues &equal,
                       function_ref<bool(Operation *)> visit) {
  SmallVector<Value> aliases(equal.getEqual(value));
  unsigned numVisited = 0;
  while (!aliases.empty())
    for (OpOperand &use : aliases.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      unsigned index = use.getOperandNumber();
      if (++numVisited > kMaxUsesToVisit || !visit(user))
        return false;
      if (isa<BarrierOp>(user) && index < user->getNumResults())
        aliases.push_back(user->getResult(index));
      else if (Value alias = getPassedOn(use))
        aliases.push_back(alias);
    }
  return true;
}

/// Returns true if something between the two may contribute to the cotangent of
/// `value`, which both of them then do in another order than together.
static bool mayBeReadBetween(Value value, LinalgOp producer, LinalgOp consumer,
                             const EqualValues &equal) {
  Block *block = producer->getBlock();
  return !visitUsers(value, equal, [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return !ancestor || ancestor == producer || ancestor == consumer ||
           ancestor->isBeforeInBlock(producer) ||
           consumer->isBeforeInBlock(ancestor);
  });
}

/// Returns true if `op` reads `value` element for element, as often as it does.
static bool readsElementwise(LinalgOp op, Value value,
                             const EqualValues &equal) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return equal.resolve(input->get()) != value ||
           op.getMatchingIndexingMap(input).isPermutation();
  });
}

static bool reads(LinalgOp op, Value value, const EqualValues &equal) {
  return llvm::any_of(op.getDpsInputs(), [&](Value input) {
    return equal.resolve(input) == value;
  });
}

/// Returns true if the body uses floating-point numbers from around the
/// operation: the cotangent of each is one sum over all uses.
static bool capturesFloats(LinalgOp op) {
  bool captures = false;
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
    captures |= isa<FloatType>(getElementTypeOrSelf(operand->get())) &&
                !matchPattern(operand->get(), m_Constant());
  });
  return captures;
}

/// Returns true if each operation equal to `consumer`, perhaps across a
/// region's border, has a producer of its own, without other users if there are
/// several: otherwise one of them would no longer be equal to any.
static bool areRepeatedTogether(LinalgOp producer, LinalgOp consumer,
                                const EqualValues &equal) {
  auto collectRepetitions = [&](Operation *op) {
    SmallPtrSet<Operation *, 4> repetitions = {op};
    for (Value result : op->getResults())
      for (Value repetition : equal.getEqual(result))
        repetitions.insert(repetition.getDefiningOp());
    return repetitions;
  };
  // Consumers that have been fused with theirs already read none.
  SmallPtrSet<Operation *, 4> consumers = collectRepetitions(consumer);
  SmallPtrSet<Operation *, 4> producers = collectRepetitions(producer);
  DenseMap<Operation *, Operation *> readers;
  for (Operation *reader : consumers)
    for (Value operand : reader->getOperands()) {
      Operation *read = lookThroughBorders(operand).getDefiningOp();
      if (producers.contains(read) &&
          readers.try_emplace(read, reader).first->second != reader)
        return false;
    }
  return producers.size() == 1 ||
         llvm::all_of(producers, [&](Operation *repetition) {
           return llvm::all_of(repetition->getUsers(), [&](Operation *user) {
             return consumers.contains(user);
           });
         });
}

/// Returns true if the adjoint of both together adds up, bit by bit, what the
/// adjoints of one after the other add up: which of the two it is depends on
/// where names stand and regions begin, and results may not.
static bool keepsAdjoint(LinalgOp producer, LinalgOp consumer,
                         const EqualValues &equal) {
  SetVector<Operation *> users = getUsers(producer, 1);
  unsigned numUses = countUses(producer, consumer);
  unsigned numReads = llvm::count_if(consumer.getDpsInputs(), [&](Value input) {
    return input.getDefiningOp() == producer;
  });
  // A cotangent that comes from another user: c + (a + b) is not (c + a) + b.
  if ((users.size() > 1 && numUses > 1) || (numReads > 1 && numUses > 2))
    return false;
  std::optional<AffineMap> loopMap = getOnlyLoopMap(producer, consumer);
  if (!loopMap || !loopMap->isPermutation() || capturesFloats(producer) ||
      !areRepeatedTogether(producer, consumer, equal))
    return false;
  SmallPtrSet<Value, 8> seen;
  return llvm::all_of(producer.getDpsInputOperands(), [&](OpOperand *input) {
    if (!isa<FloatType>(getElementTypeOrSelf(input->get())) ||
        matchPattern(input->get(), m_Constant()))
      return true;
    // The gradient of a broadcast operand is a sum in the order of the loops,
    // and a sum of sums over the loops is not one sum over them.
    if (!loopMap->isIdentity() &&
        !producer.getMatchingIndexingMap(input).isPermutation())
      return false;
    Value value = equal.resolve(input->get());
    if (!seen.insert(value).second)
      return true;
    return (!reads(consumer, value, equal) ||
            (readsElementwise(producer, value, equal) &&
             readsElementwise(consumer, value, equal))) &&
           !mayBeReadBetween(value, producer, consumer, equal);
  });
}

/// A kernel grows to this many operations: fusing the next producer copies them
/// all, so that a chain without end would take quadratic time.
static constexpr unsigned kMaxKernelOps = 256;

/// A random block is one operation here and more than a hundred below: it
/// counts as a part of all that a kernel may have.
static constexpr unsigned kPhiloxOps = kMaxKernelOps / 4;

/// A kernel reads at most this many tensors side by side. More streams are more
/// than a processor follows, and each producer is asked again when a kernel has
/// grown; XLA's fusions end there, too.
static constexpr unsigned kMaxKernelInputs = 96;

/// The adjoint has a kernel for each operand that is not read element for
/// element, and each of them recomputes the body: the operations of all of
/// them together.
static constexpr unsigned kMaxAdjointOps = 256;

static bool wouldBeTooLarge(LinalgOp producer, LinalgOp consumer,
                            bool keepAdjoints) {
  if (producer.getNumDpsInputs() + consumer.getNumDpsInputs() >
      kMaxKernelInputs + 1)
    return true;
  unsigned numOps = 0, numFloatOps = 0, numSums = 0;
  for (LinalgOp op : {producer, consumer}) {
    for (Operation &inner : op.getBlock()->without_terminator()) {
      numOps += isa<PhiloxOp>(inner) ? kPhiloxOps : 1;
      numFloatOps += llvm::any_of(inner.getResultTypes(), [](Type type) {
        return isa<FloatType>(type);
      });
    }
    for (OpOperand *input : op.getDpsInputOperands())
      numSums += isa<TensorType>(input->get().getType()) &&
                 isa<FloatType>(getElementTypeOrSelf(input->get())) &&
                 !op.getMatchingIndexingMap(input).isPermutation();
  }
  return numOps > kMaxKernelOps ||
         (keepAdjoints && numFloatOps * numSums > kMaxAdjointOps);
}

/// Returns true if `users`, all users of `producer`, take less time if each
/// recomputes its results than together with it: they read most of its operands
/// anyway, as sums over a batch do and the operations that these normalize.
/// No more may be live meanwhile.
static bool savesTime(LinalgOp producer, const SetVector<Operation *> &users) {
  auto reads = [](Operation *user, Value value) {
    return llvm::is_contained(user->getOperands(), value);
  };
  SetVector<Value> inputs;
  for (Value input : producer.getDpsInputs())
    if (isa<RankedTensorType>(input.getType()))
      inputs.insert(input);
  int64_t resultBytes = 0, sharedBytes = 0, keptBytes = 0;
  for (Value result : producer->getResults())
    resultBytes += estimateBytes(result.getType());
  for (Value input : inputs) {
    bool isShared = llvm::any_of(
        users, [&](Operation *user) { return reads(user, input); });
    (isShared ? sharedBytes : keptBytes) += estimateBytes(input.getType());
  }
  // Not for the sake of a launch less.
  int64_t before = estimateTime(producer) - kStartTime, after = 0;
  for (Operation *user : users) {
    auto kernel = cast<LinalgOp>(user);
    int64_t bytes = countBytes(user);
    for (Value result : producer->getResults())
      if (reads(user, result))
        bytes -= estimateBytes(result.getType());
    for (Value input : inputs)
      if (!reads(user, input))
        bytes += estimateBytes(input.getType());
    before += estimateTime(user);
    int64_t scalars =
        multiplySizes(kernel.getStaticLoopRanges(),
                      countScalars(kernel) + countScalars(producer));
    after += estimateKernelTime(bytes, scalars);
  }
  // But for what is small beside the result, such as a number for each row.
  constexpr int64_t kSmallPart = 64;
  return sharedBytes >= resultBytes &&
         keptBytes <= resultBytes + resultBytes / kSmallPart && after < before;
}

/// For a producer that isFusableProducer(). `equal` is null if nothing is
/// differentiated any more.
static Decision decide(LinalgOp producer, LinalgOp consumer,
                       const BackwardBorder &border,
                       const OverwrittenValues &overwritten,
                       const EqualValues *equal) {
  bool keepAdjoints = equal && mayBeActive(producer);
  if (readsNoTensor(producer) && !keepAdjoints)
    return canFuse(producer, consumer) ? Decision::Fuse : Decision::Keep;
  // A kernel of many inputs is asked about all of them each time that it has
  // grown: what does not look at the whole kernel comes first.
  SetVector<Operation *> users = getUsers(producer, kMaxUsers);
  if ((users.size() > 1 && !readsOneFullTensor(producer)) ||
      wouldBeTooLarge(producer, consumer, keepAdjoints) ||
      !canDisappearInto(producer, consumer, border, overwritten) ||
      (keepAdjoints && !keepsAdjoint(producer, consumer, *equal)))
    return Decision::Keep;
  if (users.size() == 1)
    return Decision::Fuse;
  // Not with a gradient: f'(x) (a + b) is not f'(x) a + f'(x) b.
  if (!keepAdjoints && users.size() <= kMaxUsers && isCheap(producer) &&
      llvm::all_of(users, [&](Operation *user) {
        return user == consumer ||
               canDisappearInto(producer, user, border, overwritten);
      }))
    return Decision::Fuse;
  if (!onlyWidens(consumer) && haveSameIterationSpace(producer, consumer) &&
      isFirstUser(producer, consumer))
    return Decision::FuseAndKeepResults;
  return Decision::Keep;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// Keeps what is known of values.
struct ValueListener : RewriterBase::Listener {
  ValueListener(std::optional<EqualValues> &equal,
                OverwrittenValues &overwritten)
      : equal(equal), overwritten(overwritten) {}
  void notifyOperationReplaced(Operation *op, ValueRange values) override {
    for (auto [old, now] : llvm::zip_equal(op->getResults(), values)) {
      overwritten.replace(old, now);
      if (equal)
        equal->replace(old, now);
    }
  }
  void notifyOperationErased(Operation *op) override {
    if (equal)
      equal->erase(op);
  }
  std::optional<EqualValues> &equal;
  OverwrittenValues &overwritten;
};

struct FusePass : remat::impl::FusePassBase<FusePass> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    eraseUnreachable(getOperation());
    replaceByStructured(getOperation());
    border.emplace(getOperation());
    overwritten.emplace(getOperation());
    for (Region &region : getOperation()->getRegions()) {
      if (keepAdjoints && !region.empty())
        equal.emplace(region.front());
      fuseIn(region);
      // Kernels that are differentiated keep their adjoint.
      if (!keepAdjoints)
        repeatInUsers(region);
    }
  }

private:
  void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op)) {
        if (equal)
          op.walk([&](Operation *inner) { equal->erase(inner); });
        op.erase();
      }
  }

  /// Program order: a producer has everything that it reads in it when its
  /// user's turn comes, so that one sweep suffices.
  void fuseIn(Region &region) {
    for (Block &block : region) {
      // A dead user would keep its producer from disappearing.
      eraseDead(block);
      for (Operation &op : llvm::make_early_inc_range(block)) {
        if (auto consumer = dyn_cast<LinalgOp>(op)) {
          fuseProducersInto(consumer);
          continue;
        }
        for (Region &inner : op.getRegions())
          fuseIn(inner);
      }
      eraseDead(block);
    }
  }

  void fuseProducersInto(LinalgOp consumer) {
    if (!isFusableConsumer(consumer))
      return;
    ValueListener listener(equal, *overwritten);
    IRRewriter rewriter(consumer->getContext(), &listener);
    bool changed = false;
    // A kernel of many inputs asks them all each time that it has grown.
    DenseMap<Operation *, bool> areFusable;
    auto isFusable = [&](LinalgOp producer) {
      auto [it, isNew] = areFusable.try_emplace(producer, false);
      if (isNew)
        it->second = isFusableProducer(producer);
      return it->second;
    };
    while (true) {
      if (GenericOp folded =
              foldInputs(rewriter, consumer, /*mergesInputs=*/!equal)) {
        consumer = folded;
        changed = true;
      }
      Decision decision = Decision::Keep;
      LinalgOp producer;
      for (Value input : consumer.getDpsInputs()) {
        producer = input.getDefiningOp<LinalgOp>();
        if (producer && isFusable(producer))
          decision = decide(producer, consumer, *border, *overwritten,
                            equal ? &*equal : nullptr);
        if (decision != Decision::Keep)
          break;
      }
      if (decision == Decision::Keep)
        break;
      // It may be erased.
      areFusable.erase(producer);
      consumer = fuse(rewriter, producer, consumer,
                      decision == Decision::FuseAndKeepResults,
                      /*mergesInputs=*/!equal);
      changed = true;
    }
    // Copies of one producer that came in on different ways.
    if (changed) {
      DominanceInfo dominance;
      eliminateCommonSubExpressions(rewriter, dominance, consumer);
    }
  }

  /// Clones producers into their users where recomputing them takes less time
  /// than they do. From the last one on: users are final by then, and their
  /// replacements come later in the block.
  void repeatInUsers(Region &region) {
    for (Block &block : region) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
        for (Region &inner : op.getRegions())
          repeatInUsers(inner);
        if (auto producer = dyn_cast<LinalgOp>(op);
            producer && isFusableProducer(producer))
          repeatInUsers(producer);
      }
    }
  }

  void repeatInUsers(LinalgOp producer) {
    SetVector<Operation *> users = getUsers(producer, kMaxUsers);
    auto canRepeatIn = [&](Operation *user) {
      return canDisappearInto(producer, user, *border, *overwritten) &&
             !wouldBeTooLarge(producer, cast<LinalgOp>(user),
                              /*keepAdjoints=*/false);
    };
    if (users.empty() || users.size() > kMaxUsers ||
        !llvm::all_of(users, canRepeatIn) || !savesTime(producer, users))
      return;
    ValueListener listener(equal, *overwritten);
    IRRewriter rewriter(producer->getContext(), &listener);
    for (Operation *user : users) {
      GenericOp fused = fuse(rewriter, producer, cast<LinalgOp>(user),
                             /*keepResults=*/false, /*mergesInputs=*/true);
      DominanceInfo dominance;
      eliminateCommonSubExpressions(rewriter, dominance, fused);
    }
  }

  std::optional<BackwardBorder> border;
  std::optional<OverwrittenValues> overwritten;
  /// Values that are computed twice, if there are adjoints to keep.
  std::optional<EqualValues> equal;
};
} // namespace
