//===- SinkViews.cpp - Move views to their first users --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transposition that products read in place is folded, and so is a reshape of
// a reshape. Whether a border of a region or equal computations hide such a
// view must not decide where the gradient of its source is added up. So
// consumers of a view see its source, and views stand at their first users.
//
// Loops and branches use views of the enclosing block: inside a loop, a view
// would be recomputed by each iteration.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Match/Copies.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Views.h"
#include "remat/Dialect/Remat/IR/Borders.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Fold/Passes.h"
#include "remat/Transforms/Fold/Patterns.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SINKVIEWSPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns the operand that `op` is a view of, or null if it is not a view or
/// its size cannot be computed.
static OpOperand *getViewed(Operation *op) {
  OpOperand *viewed = getViewedOperand(op);
  return viewed && getViewSizes(op) ? viewed : nullptr;
}

/// Returns the values that `view` needs: its source, and then sizes.
static SmallVector<Value> getParts(Operation *view) {
  SmallVector<Value> parts{getViewed(view)->get()};
  llvm::append_range(parts, *getViewSizes(view));
  return parts;
}

/// Returns true if `op` would be among the operations of `block` if there were
/// no regions, and false if it is in a loop, a branch or another function.
static bool isAmong(Operation *op, Block *block) {
  auto getFlat = [](Block *inner) {
    while (auto region = dyn_cast_or_null<RegionOp>(inner->getParentOp()))
      inner = region->getBlock();
    return inner;
  };
  return getFlat(op->getBlock()) == getFlat(block);
}

/// Returns true if a view, perhaps in a region, uses `value`.
static bool isReadByView(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Value passed = getPassedOn(use);
    return passed ? isReadByView(passed)
                  : getViewedOperand(use.getOwner()) != nullptr;
  });
}

/// Returns true if a product may write `view` in place of its result, if no
/// border comes between them.
static bool isWrittenByProduct(Operation *view) {
  auto product = getViewed(view)->get().getDefiningOp<LinalgOp>();
  return product && linalg::isaContractionOpInterface(product) &&
         product->hasOneUse() && !isReadByView(view->getResult(0));
}

/// Returns true if `use`, of the result of `view`, will be folded by patterns:
/// its owner can read the view's source.
static bool isFolded(OpOperand &use, Operation *view) {
  Operation *reader = use.getOwner();
  if (std::optional<Read> copied = getCopied(dyn_cast<LinalgOp>(view)))
    return readsInPlace(use, copied->map) ||
           (isa<linalg::TransposeOp>(view) && isa<linalg::TransposeOp>(reader));
  return view->getName() == reader->getName() ||
         (isTensorReshape(reader) &&
          reader->getResult(0).getType() == getViewed(view)->get().getType());
}

/// Returns the value that a name or region passes `use` on as, or null for any
/// other use.
static Value getPassedInside(OpOperand &use) {
  return isa<NameOp, RegionOp>(use.getOwner()) ? getPassedOn(use) : Value();
}

/// Returns true if a consumer after names and in regions folds `view`, which
/// `value` is there.
static bool isFoldedBehind(Value value, Operation *view) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Value passed = getPassedInside(use);
    return passed ? isFoldedBehind(passed, view) : isFolded(use, view);
  });
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Creates the same view of other parts at the insertion point of `builder`.
static Operation *viewAs(OpBuilder &builder, Operation *view,
                         ArrayRef<Value> parts) {
  IRMapping mapping;
  for (auto [own, other] : llvm::zip_equal(getParts(view), parts))
    mapping.map(own, other);
  if (auto copy = dyn_cast<LinalgOp>(view)) {
    auto type = cast<RankedTensorType>(copy->getResult(0).getType());
    ValueRange sizes =
        type.hasStaticShape() ? ArrayRef<Value>() : parts.drop_front();
    mapping.map(copy.getDpsInits()[0],
                tensor::EmptyOp::create(builder, copy.getLoc(), type.getShape(),
                                        type.getElementType(), sizes)
                    .getResult());
  }
  return builder.clone(*view, mapping);
}

/// Adds `values` to the inputs of `region` and returns the arguments.
static SmallVector<Value> addInputs(RegionOp region, ArrayRef<Value> values) {
  return llvm::map_to_vector(
      values, [&](Value value) -> Value { return addInput(region, value); });
}

/// Returns the current uses of `value`, as rewriting one may add others.
static SmallVector<std::pair<Operation *, unsigned>> collectUses(Value value) {
  return llvm::map_to_vector(value.getUses(), [](OpOperand &use) {
    return std::pair(use.getOwner(), use.getOperandNumber());
  });
}

/// Names the source of the view that `name` names and returns a view of that.
static Operation *sinkBehind(NameOp name, Operation *view) {
  OpBuilder builder(name);
  IRMapping mapping;
  mapping.map(name.getValue(), getViewed(view)->get());
  Operation *named = builder.clone(*name, mapping);
  named->getResult(0).setType(getViewed(view)->get().getType());
  SmallVector<Value> parts = getParts(view);
  parts[0] = named->getResult(0);
  Operation *behind = viewAs(builder, view, parts);
  name.getResult().replaceAllUsesWith(behind->getResult(0));
  name->erase();
  return behind;
}

/// Makes `region` take the source of the view that is its operand `index`, and
/// returns the view inside.
static Operation *sinkInto(RegionOp region, unsigned index, Operation *view) {
  SmallVector<Value> parts = addInputs(region, getParts(view));
  auto builder = OpBuilder::atBlockBegin(region.getBodyBlock());
  Operation *inside = viewAs(builder, view, parts);
  region.getBodyBlock()->getArgument(index).replaceAllUsesWith(
      inside->getResult(0));
  return inside;
}

/// Makes `region` return the source of the view that is its result `index`, and
/// returns the view outside.
static Operation *sinkOutOf(RegionOp region, unsigned index, Operation *view) {
  auto getOutside = [&](Value part) -> Value {
    if (auto argument = dyn_cast<BlockArgument>(part);
        argument && argument.getOwner() == region.getBodyBlock())
      return region.getInputs()[argument.getArgNumber()];
    // After the existing outputs, if it is not one of them.
    Value output = addOutput(region, part);
    region = output.getDefiningOp<RegionOp>();
    return output;
  };
  // Each new output creates another region; the second time there is no new
  // one.
  SmallVector<Value> parts = getParts(view);
  llvm::for_each(parts, getOutside);
  parts = llvm::map_to_vector(parts, getOutside);
  OpBuilder builder(region->getContext());
  builder.setInsertionPointAfter(region);
  Operation *outside = viewAs(builder, view, parts);
  region->getResult(index).replaceAllUsesWith(outside->getResult(0));
  return outside;
}

/// Makes consumers that fold `view`, after the name or in the region that `use`
/// passes it to, read a view of `parts`, which is `here` at `use`.
static void sinkForFolding(OpOperand &use, Operation *view,
                           SmallVector<Value> parts, Value here) {
  Value passed = getPassedInside(use);
  if (!passed) {
    if (isFolded(use, view))
      use.set(here);
    return;
  }
  if (!isFoldedBehind(passed, view))
    return;
  if (auto region = dyn_cast<RegionOp>(use.getOwner())) {
    parts = addInputs(region, parts);
    auto builder = OpBuilder::atBlockBegin(region.getBodyBlock());
    here = viewAs(builder, view, parts)->getResult(0);
  }
  for (auto [owner, index] : collectUses(passed))
    sinkForFolding(owner->getOpOperand(index), view, parts, here);
}

/// Moves `view` in front of the loops and branches that do not contain `first`,
/// an equal view: without regions they would be one operation.
static void hoist(Operation *view, Operation *first) {
  Operation *around = view;
  while (!isAmong(around, first->getBlock()))
    around = around->getParentOp();
  SmallVector<RegionOp> regions;
  SmallVector<Value> parts = getParts(view);
  for (Value &part : parts) {
    bool isViewed = &part == &parts.front();
    while (around->isAncestor(part.getParentBlock()->getParentOp())) {
      if (auto name = part.getDefiningOp<NameOp>()) {
        part = name.getValue();
        continue;
      }
      auto argument = dyn_cast<BlockArgument>(part);
      auto region = dyn_cast<RegionOp>(part.getParentBlock()->getParentOp());
      if (!argument || !region)
        return;
      part = region.getInputs()[argument.getArgNumber()];
      if (isViewed)
        regions.push_back(region);
    }
  }
  OpBuilder builder(around);
  Value result = viewAs(builder, view, parts)->getResult(0);
  for (RegionOp region : llvm::reverse(regions))
    result = addInput(region, result);
  view->getResult(0).replaceAllUsesWith(result);
  view->erase();
}

/// Hoists each view in a loop or branch of `block` that repeats one before it.
static void hoistRepeated(Block &block) {
  EqualValues equal(block);
  SmallVector<std::pair<Operation *, Operation *>> repeated;
  block.walk([&](Operation *op) {
    Operation *first = getViewed(op) ? equal.getFirst(op) : nullptr;
    if (first && !isAmong(op, first->getBlock()))
      repeated.emplace_back(op, first);
  });
  for (auto [view, first] : repeated)
    hoist(view, first);
}

/// Lets consumers of `view` on the other side of borders see its source; in
/// loops and branches, only consumers that fold the view. Views on the other
/// side, which may have other users, are added to `worklist`.
static void sink(Operation *view, SmallVectorImpl<Operation *> &worklist) {
  Block *block = view->getBlock();
  if (isWrittenByProduct(view))
    return;
  Value result = view->getResult(0);
  for (auto [owner, index] : collectUses(result)) {
    auto around = dyn_cast<RegionOp>(block->getParentOp());
    if (owner->getBlock() != block)
      sinkForFolding(owner->getOpOperand(index), view, getParts(view), result);
    else if (auto name = dyn_cast<NameOp>(owner))
      worklist.push_back(sinkBehind(name, view));
    else if (auto region = dyn_cast<RegionOp>(owner))
      worklist.push_back(sinkInto(region, index, view));
    else if (around && isa<YieldOp>(owner) &&
             index < around.getOutputs().size())
      worklist.push_back(sinkOutOf(around, index, view));
  }
  if (view->use_empty())
    view->erase();
}

/// Moves the views of each block right before their first users there; those of
/// one user are in the order of its operands.
static void placeViews(Block &block) {
  for (Operation &op : block)
    if (!isa<LinalgOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          placeViews(inner);
  if (llvm::none_of(block, [](Operation &op) { return getViewed(&op); }))
    return;
  DenseMap<Operation *, unsigned> unseen;
  for (Operation *op = &block.back(); op; op = op->getPrevNode()) {
    llvm::SetVector<Operation *> read;
    op->walk([&](Operation *reader) {
      for (Value operand : reader->getOperands()) {
        Operation *view = operand.getDefiningOp();
        if (!view || view->getBlock() != &block || !getViewed(view))
          continue;
        auto [it, isNew] = unseen.try_emplace(view, 0);
        if (isNew)
          it->second = llvm::range_size(view->getUses());
        --it->second;
        read.insert(view);
      }
    });
    for (Operation *view : read)
      if (unseen.lookup(view) == 0)
        view->moveBefore(op);
  }
}

namespace {
struct SinkViewsPass : mlir::remat::impl::SinkViewsPassBase<SinkViewsPass> {
  void runOnOperation() override {
    auto isView = [](Operation *op) {
      return WalkResult(getViewed(op) ? WalkResult::interrupt()
                                      : WalkResult::advance());
    };
    if (!getOperation()->walk(isView).wasInterrupted())
      return markAllAnalysesPreserved();
    for (Region &region : getOperation()->getRegions())
      for (Block &block : region)
        hoistRepeated(block);
    // The last one first: the source of a view, if a view, goes before it.
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (getViewed(op))
        worklist.push_back(op);
    });
    while (!worklist.empty())
      sink(worklist.pop_back_val(), worklist);
    // Inputs and outputs of regions without uses do not count as users.
    RewritePatternSet patterns(&getContext());
    RegionOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    for (Region &region : getOperation()->getRegions())
      for (Block &block : region)
        placeViews(block);
  }
};
} // namespace
