//===- MergeTapes.cpp - What a loop carries is recorded once --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recurrence is recorded twice: as it enters an iteration, which the backward
// reads, and as it leaves it, which is what the model returns or the backward
// of what comes next reads. The one is the other, an iteration later.
//===----------------------------------------------------------------------===//

#include "CountedLoops.h"
#include "remat/Transforms/Materialize/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Positions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_MERGETAPES
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// A tensor that a loop carries and fills in, position by position of its
/// leading dimension: a tape, or a stack of the model's own.
struct Stack {
  unsigned number;
  Operation *write;
  /// The value that is written, without the leading dimension, and where.
  Value value, index;
  /// Positions count down.
  bool down;
};
} // namespace

/// `value` before a leading dimension of size 1 was added.
static Value withoutLeadingOne(Value value) {
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  if (expand && expand.getResultType().getShape().drop_front() ==
                    expand.getSrcType().getShape())
    return expand.getSrc();
  return value;
}

static std::optional<Stack> getStack(scf::ForOp loop, unsigned number,
                                     int64_t count) {
  BlockArgument carried = loop.getRegionIterArg(number);
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  Operation *write = loop.getYieldedValues()[number].getDefiningOp();
  if (!type || !write || !carried.hasOneUse() || !write->hasOneUse() ||
      type.getRank() == 0 || type.getDimSize(0) != count)
    return std::nullopt;
  Value value, index;
  if (auto tape = dyn_cast<TapeWriteOp>(write)) {
    if (tape.getTape() != carried)
      return std::nullopt;
    value = tape.getValue();
    index = tape.getIndex();
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(write)) {
    if (insert.getDest() != carried || !isOnePosition(insert, type))
      return std::nullopt;
    value = withoutLeadingOne(insert.getSource());
    index = insert.getDynamicOffset(0);
  } else {
    return std::nullopt;
  }
  auto element = dyn_cast<RankedTensorType>(value.getType());
  bool down = countsDown(loop, index, count);
  if (!(down || countsUp(loop, index)) || !element ||
      element.getShape() != type.getShape().drop_front())
    return std::nullopt;
  return Stack{number, write, value, index, down};
}

/// Returns true if `tensor` is neither written in place nor returned: then it
/// may be a part of a larger tensor.
static bool isOnlyRead(Value tensor) {
  llvm::SetVector<Value> views;
  views.insert(tensor);
  for (unsigned next = 0; next < views.size(); ++next)
    for (OpOperand &use : views[next].getUses()) {
      Operation *user = use.getOwner();
      auto structured = dyn_cast<DestinationStyleOpInterface>(user);
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, BarrierOp>(user))
        views.insert(user->result_begin(), user->result_end());
      else if (!isa<TapeReadOp, tensor::ExtractSliceOp, SavedOp>(user) &&
               (!structured || !structured.isDpsInput(&use) ||
                isa<tensor::InsertSliceOp>(user)))
        return false;
    }
  return true;
}

/// `index` + `by`, which is 0 or 1.
static Value shift(OpBuilder &builder, Location loc, Value index, int64_t by) {
  if (by == 0)
    return index;
  Value one = arith::ConstantIndexOp::create(builder, loc, by);
  return arith::AddIOp::create(builder, loc, index, one);
}

/// Replaces `part`, of which position i is position i + `first` of `whole`.
static void replaceByPart(RewriterBase &rewriter, Value part, Value whole,
                          int64_t first) {
  auto type = cast<RankedTensorType>(part.getType());
  for (Operation *user : llvm::make_early_inc_range(part.getUsers())) {
    auto read = dyn_cast<TapeReadOp>(user);
    if (!read)
      continue;
    rewriter.setInsertionPoint(read);
    PhaseListener listener(getPhase(read));
    rewriter.setListener(&listener);
    Value index = shift(rewriter, read.getLoc(), read.getIndex(), first);
    rewriter.setListener(nullptr);
    rewriter.modifyOpInPlace(read, [&] {
      read.getTapeMutable().assign(whole);
      read.getIndexMutable().assign(index);
    });
  }
  if (part.use_empty())
    return;
  rewriter.setInsertionPointAfterValue(whole);
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
  offsets.front() = rewriter.getIndexAttr(first);
  rewriter.replaceAllUsesWith(
      part, tensor::ExtractSliceOp::create(rewriter, part.getLoc(), type, whole,
                                           offsets, sizes, strides));
}

/// Makes the loop carry the stack unchanged, for which it must have no reads.
static void dropWrite(RewriterBase &rewriter, scf::ForOp loop,
                      const Stack &stack) {
  rewriter.replaceOp(stack.write, loop.getRegionIterArg(stack.number));
}

/// Makes one tape of `entering`, which records carried value `carried` as it
/// enters each iteration, and `leaving`, with a position more. Returns the loop
/// that replaces `loop`.
static scf::ForOp merge(RewriterBase &rewriter, scf::ForOp loop,
                        const Stack &entering, const Stack &leaving,
                        unsigned carried) {
  Location loc = entering.write->getLoc();
  auto type =
      cast<RankedTensorType>(loop.getRegionIterArg(entering.number).getType());
  int64_t count = type.getDimSize(0);
  SmallVector<int64_t> shape(type.getShape());
  ++shape.front();
  rewriter.setInsertionPoint(loop);
  Value tape =
      tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
  Value start =
      arith::ConstantIndexOp::create(rewriter, loc, entering.down ? count : 0);
  tape = TapeWriteOp::create(rewriter, loc, tape.getType(),
                             loop.getInitArgs()[carried], tape, start);
  copyPhase(loop, tape.getDefiningOp());
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  auto addWrite = [&](OpBuilder &builder, Location,
                      ArrayRef<BlockArgument> args) -> SmallVector<Value> {
    Value index = shift(builder, loc, entering.index, entering.down ? 0 : 1);
    auto write = TapeWriteOp::create(builder, loc, args.front().getType(),
                                     loop.getYieldedValues()[carried],
                                     args.front(), index);
    write->setDiscardableAttrs(entering.write->getDiscardableAttrDictionary());
    return {write.getResult()};
  };
  FailureOr<LoopLikeOpInterface> grown = loop.replaceWithAdditionalYields(
      rewriter, tape, /*replaceInitOperandUsesInLoop=*/false, addWrite);
  assert(succeeded(grown) && "scf.for takes more yields");
  auto merged = cast<scf::ForOp>(grown->getOperation());
  merged->setDiscardableAttrs(attributes);
  dropWrite(rewriter, merged, entering);
  dropWrite(rewriter, merged, leaving);
  Value whole = merged.getResults().back();
  replaceByPart(rewriter, merged.getResult(entering.number), whole,
                entering.down ? 1 : 0);
  replaceByPart(rewriter, merged.getResult(leaving.number), whole,
                entering.down ? 0 : 1);
  return merged;
}

/// Two stacks of one value become one. Returns whether there were any.
static bool mergeEqual(RewriterBase &rewriter, scf::ForOp loop,
                       SmallVectorImpl<Stack> &stacks) {
  bool changed = false;
  for (size_t i = 0; i < stacks.size(); ++i)
    for (size_t j = stacks.size() - 1; j > i; --j) {
      Value kept = loop.getResult(stacks[i].number);
      Value dropped = loop.getResult(stacks[j].number);
      if (stacks[i].value != stacks[j].value ||
          stacks[i].down != stacks[j].down ||
          kept.getType() != dropped.getType() || !isOnlyRead(kept) ||
          !isOnlyRead(dropped))
        continue;
      dropWrite(rewriter, loop, stacks[j]);
      rewriter.replaceAllUsesWith(dropped, kept);
      stacks.erase(stacks.begin() + j);
      changed = true;
    }
  return changed;
}

/// Merges a pair of stacks of `loop`. Returns the loop that replaces it, null
/// if there is no pair.
static scf::ForOp mergeShifted(RewriterBase &rewriter, scf::ForOp loop,
                               ArrayRef<Stack> stacks) {
  for (const Stack &entering : stacks) {
    auto carried = dyn_cast<BlockArgument>(entering.value);
    if (!carried || carried.getOwner() != loop.getBody() ||
        carried == loop.getInductionVar())
      continue;
    unsigned number = carried.getArgNumber() - loop.getNumInductionVars();
    for (const Stack &leaving : stacks)
      if (leaving.number != entering.number && leaving.number != number &&
          leaving.value == loop.getYieldedValues()[number] &&
          leaving.down == entering.down &&
          isOnlyRead(loop.getResult(entering.number)) &&
          isOnlyRead(loop.getResult(leaving.number)))
        return merge(rewriter, loop, entering, leaving, number);
  }
  return {};
}

namespace {
struct MergeTapes : mlir::remat::impl::MergeTapesBase<MergeTapes> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    IRRewriter rewriter(&getContext());
    bool changed = false;
    for (scf::ForOp loop : loops) {
      std::optional<int64_t> count = getTripCount(loop);
      if (!count || *count < 1)
        continue;
      while (loop) {
        SmallVector<Stack> stacks;
        for (unsigned number : llvm::seq(loop.getNumResults()))
          if (std::optional<Stack> stack = getStack(loop, number, *count))
            stacks.push_back(*stack);
        changed |= mergeEqual(rewriter, loop, stacks);
        loop = mergeShifted(rewriter, loop, stacks);
        changed |= loop != nullptr;
      }
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
