//===- MergeLoops.cpp - Forward and backward in one loop ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over tiles from which nothing is saved computes each tile twice. Where
// the backward could begin before the forward has ended, because the cotangent
// does not depend on its results, once is enough.
//===----------------------------------------------------------------------===//

#include "CountedLoops.h"
#include "remat/Transforms/Materialize/Passes.h"

#include "remat/Analysis/AffineValues.h"
#include "remat/Analysis/BackwardBorder.h"
#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_MERGELOOPS
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// More tiles than this are not compared with each other.
static constexpr int64_t kMaxTiles = 4096;

/// Returns the parts that iterations write of what they carry as `argument`,
/// if that is all they do with it.
static std::optional<SmallVector<TensorPart>>
getFilledParts(scf::ForOp loop, BlockArgument argument) {
  Value yielded = loop.getTiedLoopYieldedValue(argument)->get();
  auto insert = yielded.getDefiningOp<tensor::InsertSliceOp>();
  std::optional<int64_t> count = getTripCount(loop);
  if (!insert || insert.getDest() != argument || !argument.hasOneUse() ||
      !insert.hasUnitStride() || !count || *count > kMaxTiles)
    return std::nullopt;
  SmallVector<TensorPart> parts;
  for (int64_t i = 0; i < *count; ++i) {
    AffineValues values({});
    values.set(loop.getInductionVar(), i);
    TensorPart &part = parts.emplace_back();
    for (auto [offset, size] :
         llvm::zip_equal(insert.getMixedOffsets(), insert.getMixedSizes())) {
      std::optional<int64_t> start = values.getNumber(offset);
      std::optional<int64_t> length = getConstantIntValue(size);
      if (!start || !length)
        return std::nullopt;
      part.offsets.push_back(*start);
      part.sizes.push_back(*length);
    }
  }
  return parts;
}

/// Returns true if no part of `parts` from `first` on overlaps an earlier one.
static bool areAllDisjoint(ArrayRef<TensorPart> parts, unsigned first = 1) {
  for (unsigned i = first; i < parts.size(); ++i)
    for (unsigned j = 0; j < i; ++j)
      if (!areDisjoint(parts[i], parts[j]))
        return false;
  return true;
}

/// Returns true if iterations only fill in disjoint parts of the carried
/// tensors: any order of them has the same results.
static bool onlyFillsIn(scf::ForOp loop) {
  return llvm::all_of(loop.getRegionIterArgs(), [&](BlockArgument argument) {
    auto parts = getFilledParts(loop, argument);
    return parts && areAllDisjoint(*parts);
  });
}

namespace {
/// Loops that one after the other fill in the rest of what a loop of the
/// forward has begun, each the only user of the results of the one before, and
/// the values that take the place of the first one's results after the last.
struct Fills {
  SmallVector<scf::ForOp> loops;
  SmallVector<OpResult> filled;
};
} // namespace

/// Returns the operands of the loop that is the only user of `fills` and goes
/// on to fill in what `forward` has begun, other parts of it; empty if there is
/// no such loop.
static SmallVector<OpOperand *> getNextFill(scf::ForOp forward,
                                            const Fills &fills,
                                            const BackwardBorder &border) {
  SmallVector<OpOperand *> starts;
  for (auto [result, value] :
       llvm::zip_equal(forward.getResults(), fills.filled)) {
    if (!value.hasOneUse())
      return {};
    OpOperand &use = *value.use_begin();
    auto loop = dyn_cast<scf::ForOp>(use.getOwner());
    if (!loop || loop->getBlock() != forward->getBlock() ||
        border.isInBackward(loop) ||
        (!starts.empty() && loop != starts.front()->getOwner()) ||
        use.getOperandNumber() < loop.getNumControlOperands())
      return {};
    starts.push_back(&use);
    auto parts =
        getFilledParts(forward, forward.getTiedLoopRegionIterArg(result));
    auto others = getFilledParts(loop, loop.getTiedLoopRegionIterArg(&use));
    if (!parts || !others || parts->size() + others->size() > kMaxTiles)
      return {};
    unsigned first = parts->size();
    parts->append(*others);
    if (!areAllDisjoint(*parts, first))
      return {};
  }
  return starts;
}

static Fills findFills(scf::ForOp forward, const BackwardBorder &border) {
  Fills fills{{}, llvm::to_vector(forward->getResults())};
  while (true) {
    SmallVector<OpOperand *> starts = getNextFill(forward, fills, border);
    if (starts.empty())
      return fills;
    auto loop = cast<scf::ForOp>(starts.front()->getOwner());
    fills.loops.push_back(loop);
    for (auto [value, start] : llvm::zip_equal(fills.filled, starts))
      value = loop.getTiedLoopResult(start);
  }
}

/// Moves `forward` after all loops that fill in the rest of its tensors: the
/// backward goes through the tiles from the last one to the first.
static void fillLast(RewriterBase &rewriter, scf::ForOp forward,
                     const Fills &fills) {
  for (scf::ForOp next : fills.loops) {
    rewriter.moveOpAfter(forward, next);
    for (OpResult result : forward.getResults()) {
      OpOperand *init = forward.getTiedLoopInit(result);
      OpOperand &use = *result.use_begin();
      Value filled = next.getTiedLoopResult(&use);
      rewriter.modifyOpInPlace(next, [&] { use.set(init->get()); });
      rewriter.replaceAllUsesWith(filled, result);
      rewriter.modifyOpInPlace(forward, [&] { init->set(filled); });
    }
  }
}

/// The index `count` - 1 - i in the body of a loop that counts it down.
static Value getReversedIndex(scf::ForOp loop, int64_t count) {
  for (Operation *user : loop.getInductionVar().getUsers())
    if (user->getBlock() == loop.getBody() && user->getNumResults() == 1 &&
        countsDown(loop, user->getResult(0), count))
      return user->getResult(0);
  return {};
}

/// Returns the values outside of `loop` of which the factors of a product in
/// its body are slices, also through barriers; else the first value in the loop
/// that is no slice.
static SmallVector<Value> getSources(scf::ForOp loop,
                                     linalg::LinalgOp product) {
  return llvm::map_to_vector(product.getDpsInputs(), [&](Value value) {
    while (!loop.isDefinedOutsideOfLoop(value)) {
      Operation *op = value.getDefiningOp();
      if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
        value = slice.getSource();
      else if (auto barrier = dyn_cast_or_null<BarrierOp>(op))
        value = barrier.getValues()[cast<OpResult>(value).getResultNumber()];
      else
        break;
    }
    return value;
  });
}

namespace {
/// Compares values by how they are computed, whatever their phase.
class SameValues {
public:
  bool areSame(Value a, Value b) {
    a = lookThroughBorders(a);
    b = lookThroughBorders(b);
    if (a == b)
      return true;
    auto first = dyn_cast<OpResult>(a), second = dyn_cast<OpResult>(b);
    if (!first || !second ||
        first.getResultNumber() != second.getResultNumber())
      return false;
    std::pair<Value, Value> key(a, b);
    auto found = known.find(key);
    if (found != known.end())
      return found->second;
    return known[key] = areSame(first.getOwner(), second.getOwner());
  }

private:
  bool areSame(Operation *a, Operation *b) {
    auto getAttributes = [](Operation *op) {
      NamedAttrList attributes(op->getDiscardableAttrDictionary());
      attributes.erase(RematDialect::getPhaseAttrName());
      return attributes.getDictionary(op->getContext());
    };
    DenseMap<Value, Value> inside;
    return isMemoryEffectFree(a) && getAttributes(a) == getAttributes(b) &&
           OperationEquivalence::isEquivalentTo(
               a, b,
               [&](Value x, Value y) {
                 return success(inside.lookup(x) == y || areSame(x, y));
               },
               [&](Value x, Value y) { inside[x] = y; },
               OperationEquivalence::IgnoreLocations |
                   OperationEquivalence::IgnoreDiscardableAttrs);
  }

  DenseMap<std::pair<Value, Value>, bool> known;
};

/// Values of the forward, and what they are where the backward reads them.
using Counterparts = SmallVector<std::pair<Value, Value>>;
} // namespace

/// Finds a product of `forward` that the body of `backward` recomputes after a
/// barrier. Returns the values of which its factors are parts, in the forward
/// and in the backward, or std::nullopt if there is no such product.
static std::optional<Counterparts> findRepeated(scf::ForOp backward,
                                                scf::ForOp forward) {
  auto getProducts = [](scf::ForOp loop) {
    return llvm::make_filter_range(loop.getBody()->getOps<linalg::LinalgOp>(),
                                   linalg::isaContractionOpInterface);
  };
  if (backward.getBody()->getOps<BarrierOp>().empty())
    return std::nullopt;
  SameValues values;
  for (linalg::LinalgOp product : getProducts(forward))
    for (linalg::LinalgOp again : getProducts(backward)) {
      if (product->getResultTypes() != again->getResultTypes())
        continue;
      Counterparts sources;
      for (auto [value, other] : llvm::zip_equal(getSources(forward, product),
                                                 getSources(backward, again)))
        sources.emplace_back(value, other);
      if (llvm::all_of(sources, [&](auto pair) {
            return values.areSame(pair.first, pair.second);
          }))
        return sources;
    }
  return std::nullopt;
}

/// Returns the operations between the loops that depend on `fills`, in order;
/// std::nullopt if `backward` depends on it, too, or if one of them cannot be
/// moved after `backward`.
static std::optional<SmallVector<Operation *>>
getOpsToMove(scf::ForOp forward, const Fills &fills, scf::ForOp backward) {
  scf::ForOp last = fills.loops.empty() ? forward : fills.loops.back();
  if (!last->isBeforeInBlock(backward))
    return std::nullopt;
  SmallVector<Operation *> ops;
  DenseSet<Value> dependent(fills.filled.begin(), fills.filled.end());
  for (Operation *op = last->getNextNode();; op = op->getNextNode()) {
    bool depends = llvm::any_of(
        getInputs(op), [&](Value input) { return dependent.contains(input); });
    if (op == backward)
      return depends ? std::nullopt : std::optional(ops);
    if (!depends)
      continue;
    if (!isMemoryEffectFree(op))
      return std::nullopt;
    dependent.insert(op->result_begin(), op->result_end());
    ops.push_back(op);
  }
}

/// Removes barriers of the merged body, so that CSE merges recomputed values
/// with the originals, which become part of the backward.
static void dropBarriers(RewriterBase &rewriter, Block *body) {
  for (Operation &op : llvm::make_early_inc_range(*body)) {
    if (!op.hasTrait<OpTrait::IsTerminator>())
      setPhase(&op, kBackwardPhase);
    if (auto barrier = dyn_cast<BarrierOp>(op))
      rewriter.replaceOp(barrier, barrier.getValues());
  }
}

static void merge(RewriterBase &rewriter, scf::ForOp forward,
                  scf::ForOp backward, Value index, const Counterparts &sources,
                  ArrayRef<Operation *> behind) {
  Operation *last = backward;
  for (Operation *op : behind) {
    rewriter.moveOpAfter(op, last);
    setPhase(op, kBackwardPhase);
    last = op;
  }
  unsigned numResults = backward.getNumResults();
  rewriter.setInsertionPoint(backward);
  DictionaryAttr attributes = backward->getDiscardableAttrDictionary();
  auto addBody = [&](OpBuilder &builder, Location,
                     ArrayRef<BlockArgument> args) {
    IRMapping mapping;
    for (auto [value, again] : sources)
      mapping.map(value, again);
    mapping.map(forward.getInductionVar(), index);
    mapping.map(forward.getRegionIterArgs(), args);
    for (Operation &op : forward.getBody()->without_terminator())
      builder.clone(op, mapping);
    return llvm::map_to_vector(forward.getYieldedValues(), [&](Value value) {
      return mapping.lookupOrDefault(value);
    });
  };
  FailureOr<LoopLikeOpInterface> merged = backward.replaceWithAdditionalYields(
      rewriter, forward.getInitArgs(), /*replaceInitOperandUsesInLoop=*/false,
      addBody);
  assert(succeeded(merged) && "scf.for takes more yields");
  auto loop = cast<scf::ForOp>(merged->getOperation());
  loop->setDiscardableAttrs(attributes);
  dropBarriers(rewriter, loop.getBody());
  rewriter.replaceOp(forward, loop.getResults().drop_front(numResults));
}

namespace {
struct MergeLoops : mlir::remat::impl::MergeLoopsBase<MergeLoops> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> forwards, backwards;
    BackwardBorder border(getOperation());
    getOperation()->walk([&](scf::ForOp loop) {
      (border.isInBackward(loop) ? backwards : forwards).push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    bool changed = false;
    for (scf::ForOp forward : forwards) {
      std::optional<int64_t> count = getTripCount(forward);
      if (!count || !onlyFillsIn(forward))
        continue;
      for (scf::ForOp &backward : backwards) {
        if (!backward || backward->getBlock() != forward->getBlock() ||
            !forward->isBeforeInBlock(backward) ||
            getTripCount(backward) != count)
          continue;
        std::optional<Counterparts> sources = findRepeated(backward, forward);
        if (!sources)
          continue;
        Value index = getReversedIndex(backward, *count);
        Fills fills = findFills(forward, border);
        auto behind = getOpsToMove(forward, fills, backward);
        if (!index || !behind)
          continue;
        fillLast(rewriter, forward, fills);
        merge(rewriter, forward, backward, index, *sources, *behind);
        backward = nullptr;
        changed = true;
        break;
      }
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
