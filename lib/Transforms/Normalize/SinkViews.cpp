//===- SinkViews.cpp - Views stand where they are read --------------------===//
//
// A transposition that products read in place is gone, and a reshape of a
// reshape is one. Whether a border of a region or equal computations hide such
// a thing must not decide where the gradient of the source is added up, so that
// what reads a view sees what it is a view of, and views stand at their first
// readers.
//
// Loops and branches read views of the block around them: computed in a loop, a
// view would be so again and again.
//
//===----------------------------------------------------------------------===//

#include "Copies.h"
#include "Patterns.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Views.h"
#include "remat/Dialect/Remat/IR/Borders.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Normalize/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SINKVIEWSPASS
#include "remat/Transforms/Normalize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// What `op` is a view of; null if it is none, or of a size that is not known.
static OpOperand *getViewed(Operation *op) {
  OpOperand *viewed = getViewedOperand(op);
  return viewed && cast<TensorType>(op->getResult(0).getType()).hasStaticShape()
             ? viewed
             : nullptr;
}

/// Whether `op` stands among the operations of `block`, were there no regions;
/// if not, in a loop, a branch or another function.
static bool isAmong(Operation *op, Block *block) {
  auto getFlat = [](Block *inner) {
    while (auto region = dyn_cast_or_null<RegionOp>(inner->getParentOp()))
      inner = region->getBlock();
    return inner;
  };
  return getFlat(op->getBlock()) == getFlat(block);
}

/// Finds the views in `block` that a loop or branch behind them computes again:
/// as one operation, which they are without regions, they stand before that.
static void findRepeatedInBranches(Block &block, DenseSet<Operation *> &found) {
  EqualValues equal(block);
  block.walk([&](Operation *op) {
    Operation *first = getViewed(op) ? equal.getFirst(op) : nullptr;
    if (first && !isAmong(op, first->getBlock()))
      found.insert(first);
  });
}

/// Whether a view, perhaps behind borders, reads `value`.
static bool isReadByView(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Value passed = getPassedOn(use);
    return passed ? isReadByView(passed)
                  : getViewedOperand(use.getOwner()) != nullptr;
  });
}

/// Whether a product may write `view` in place of its result, if no border
/// comes between them.
static bool isWrittenByProduct(Operation *view) {
  auto product = getViewed(view)->get().getDefiningOp<LinalgOp>();
  return product && linalg::isaContractionOpInterface(product) &&
         product->hasOneUse() && !isReadByView(view->getResult(0));
}

/// Whether `use`, of what `view` makes, is gone once patterns have run: its
/// owner reads what is viewed.
static bool isFolded(OpOperand &use, Operation *view) {
  Operation *reader = use.getOwner();
  if (std::optional<Read> copied = getCopied(dyn_cast<LinalgOp>(view)))
    return readsInPlace(use, copied->map) ||
           (isa<linalg::TransposeOp>(view) && isa<linalg::TransposeOp>(reader));
  return view->getName() == reader->getName() ||
         (isTensorReshape(reader) &&
          reader->getResult(0).getType() == getViewed(view)->get().getType());
}

/// What a name or region makes of `use`; null if it is read by neither.
static Value getPassedInside(OpOperand &use) {
  return isa<NameOp, RegionOp>(use.getOwner()) ? getPassedOn(use) : Value();
}

/// Whether something behind names and in regions folds `view`, which `value` is
/// there.
static bool isFoldedBehind(Value value, Operation *view) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Value passed = getPassedInside(use);
    return passed ? isFoldedBehind(passed, view) : isFolded(use, view);
  });
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// The same view of `source`, where `builder` stands.
static Operation *viewAs(OpBuilder &builder, Operation *view, Value source) {
  IRMapping mapping;
  mapping.map(getViewed(view)->get(), source);
  if (auto copy = dyn_cast<LinalgOp>(view)) {
    auto type = cast<RankedTensorType>(copy->getResult(0).getType());
    mapping.map(copy.getDpsInits()[0],
                tensor::EmptyOp::create(builder, copy.getLoc(), type.getShape(),
                                        type.getElementType())
                    .getResult());
  }
  return builder.clone(*view, mapping);
}

/// The uses that `value` has now: what is done for one may add others.
static SmallVector<std::pair<Operation *, unsigned>> collectUses(Value value) {
  return llvm::map_to_vector(value.getUses(), [](OpOperand &use) {
    return std::pair(use.getOwner(), use.getOperandNumber());
  });
}

/// Names what `name` names a view of; returns a view of that.
static Operation *sinkBehind(NameOp name, Operation *view) {
  OpBuilder builder(name);
  IRMapping mapping;
  mapping.map(name.getValue(), getViewed(view)->get());
  Operation *named = builder.clone(*name, mapping);
  named->getResult(0).setType(getViewed(view)->get().getType());
  Operation *behind = viewAs(builder, view, named->getResult(0));
  name.getResult().replaceAllUsesWith(behind->getResult(0));
  name->erase();
  return behind;
}

/// Makes `region` take what its operand `index` is a view of; returns the view
/// inside.
static Operation *sinkInto(RegionOp region, unsigned index, Operation *view) {
  Value source = addInput(region, getViewed(view)->get());
  auto builder = OpBuilder::atBlockBegin(region.getBodyBlock());
  Operation *inside = viewAs(builder, view, source);
  region.getBodyBlock()->getArgument(index).replaceAllUsesWith(
      inside->getResult(0));
  return inside;
}

/// Makes `region` return what its result `index` is a view of; returns the view
/// outside.
static Operation *sinkOutOf(RegionOp region, unsigned index, Operation *view) {
  Value source = getViewed(view)->get();
  Operation *grown = region;
  if (auto argument = dyn_cast<BlockArgument>(source);
      argument && argument.getOwner() == region.getBodyBlock()) {
    source = region.getInputs()[argument.getArgNumber()];
  } else {
    // Behind the outputs there are, if it is none of them.
    source = addOutput(region, source);
    grown = source.getDefiningOp();
  }
  OpBuilder builder(grown->getContext());
  builder.setInsertionPointAfter(grown);
  Operation *outside = viewAs(builder, view, source);
  grown->getResult(index).replaceAllUsesWith(outside->getResult(0));
  return outside;
}

/// Makes what folds `view`, behind the name or in the region that `use` passes
/// it to, read a view of `source`, which is `here` where `use` is.
static void sinkForFolding(OpOperand &use, Operation *view, Value source,
                           Value here) {
  Value passed = getPassedInside(use);
  if (!passed) {
    if (isFolded(use, view))
      use.set(here);
    return;
  }
  if (!isFoldedBehind(passed, view))
    return;
  if (auto region = dyn_cast<RegionOp>(use.getOwner())) {
    source = addInput(region, source);
    auto builder = OpBuilder::atBlockBegin(region.getBodyBlock());
    here = viewAs(builder, view, source)->getResult(0);
  }
  for (auto [owner, index] : collectUses(passed))
    sinkForFolding(owner->getOpOperand(index), view, source, here);
}

/// Lets what reads `view`, on the other side of borders, see what it views: all
/// of it if it `mayCross`, else what folds the view. Views on the other side,
/// which others may read, go to `worklist`.
static void sink(Operation *view, bool mayCross,
                 SmallVectorImpl<Operation *> &worklist) {
  Block *block = view->getBlock();
  if (isWrittenByProduct(view))
    return;
  Value result = view->getResult(0);
  for (auto [owner, index] : collectUses(result)) {
    auto around = dyn_cast<RegionOp>(block->getParentOp());
    if (owner->getBlock() != block || !mayCross)
      sinkForFolding(owner->getOpOperand(index), view, getViewed(view)->get(),
                     result);
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

/// How many times `view` is read; by equal views in loops and branches, too:
/// their gradients are added up with its own.
static unsigned countReaders(Operation *view, const EqualValues &equal) {
  Value result = view->getResult(0);
  unsigned count = llvm::range_size(result.getUses());
  if (equal.getFirst(view))
    return count;
  Block *block = view->getBlock();
  return count + llvm::count_if(equal.getEqual(result), [&](Value value) {
           Operation *op = value.getDefiningOp();
           return block->findAncestorOpInBlock(*op) && !isAmong(op, block);
         });
}

/// Moves the views of each block right before their first readers there; those
/// of one reader stand in the order in which it reads them.
static void placeViews(Block &block, const EqualValues &equal) {
  for (Operation &op : block)
    if (!isa<LinalgOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          placeViews(inner, equal);
  if (llvm::none_of(block, [](Operation &op) { return getViewed(&op); }))
    return;
  DenseMap<Operation *, unsigned> unseen;
  for (Operation *op = &block.back(); op; op = op->getPrevNode()) {
    llvm::SetVector<Operation *> read;
    auto visit = [&](Operation *view) {
      if (!view || view->getBlock() != &block || !getViewed(view))
        return;
      auto [it, isNew] = unseen.try_emplace(view, 0);
      if (isNew)
        it->second = countReaders(view, equal);
      --it->second;
      read.insert(view);
    };
    op->walk([&](Operation *reader) {
      for (Value operand : reader->getOperands())
        visit(operand.getDefiningOp());
      if (getViewed(reader) && !isAmong(reader, &block))
        visit(equal.getFirst(reader));
    });
    for (Operation *view : read)
      if (unseen.lookup(view) == 0)
        view->moveBefore(op);
  }
}

namespace {
struct SinkViewsPass : mlir::remat::impl::SinkViewsPassBase<SinkViewsPass> {
  void runOnOperation() override {
    // The last one first: a view of a view goes before that.
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (getViewed(op))
        worklist.push_back(op);
    });
    if (worklist.empty())
      return markAllAnalysesPreserved();
    DenseSet<Operation *> repeated;
    for (Region &region : getOperation()->getRegions())
      for (Block &block : region)
        findRepeatedInBranches(block, repeated);
    while (!worklist.empty()) {
      Operation *view = worklist.pop_back_val();
      // Its address may be another operation's afterwards.
      bool mayCross = !repeated.erase(view);
      sink(view, mayCross, worklist);
    }
    // Borders that nothing passes any more are no readers.
    RewritePatternSet patterns(&getContext());
    RegionOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    for (Region &region : getOperation()->getRegions())
      for (Block &block : region)
        placeViews(block, EqualValues(block));
  }
};
} // namespace
