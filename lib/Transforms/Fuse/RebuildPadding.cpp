//===- RebuildPadding.cpp - Pad again in the backward ---------------------===//
//
// A padded image is another tensor and constants around it. Both the
// convolution and its adjoint read it, so that it would be saved as a whole;
// padding once more costs one copy.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Fuse/Passes.h"

#include "ElementwiseFusion.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {
#define GEN_PASS_DEF_REBUILDPADDINGPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

static bool isInBackward(Operation *op) {
  return getPhase(op) == kBackwardPhase;
}

/// Whether keeping the source instead of the result saves what a copy is worth:
/// the source is kept anyway, or an eighth of it is added.
static bool pays(tensor::PadOp pad) {
  if (llvm::any_of(pad.getSource().getUsers(), isInBackward))
    return true;
  RankedTensorType source = pad.getSourceType(), result = pad.getResultType();
  return source.hasStaticShape() && result.hasStaticShape() &&
         result.getNumElements() - source.getNumElements() >=
             source.getNumElements() / 8;
}

/// Gives the readers in the backward a copy of `pad` of their own.
static bool rebuild(tensor::PadOp pad) {
  if (!getPhase(pad).empty() || !pad.getConstantPaddingValue() || !pays(pad))
    return false;
  Block *block = pad->getBlock();
  Operation *first = nullptr;
  bool isReadBefore = false;
  for (Operation *user : pad->getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    isReadBefore |= !isInBackward(user);
    if (isInBackward(user) && (!first || ancestor->isBeforeInBlock(first)))
      first = ancestor;
  }
  if (!first || !isReadBefore)
    return false;
  // Otherwise nothing would tell the copy from the original.
  SmallVector<Value, 1> after;
  for (Value operand : first->getOperands())
    if (Operation *op = operand.getDefiningOp(); op && isInBackward(op)) {
      after.push_back(operand);
      break;
    }
  OpBuilder builder(first);
  auto phase = builder.getStringAttr(kBackwardPhase);
  auto barrier =
      BarrierOp::create(builder, pad.getLoc(), pad.getSource(), after);
  auto copy = cast<tensor::PadOp>(builder.clone(*pad));
  copy.getSourceMutable().assign(barrier.getResult(0));
  for (Operation *op : {barrier.getOperation(), copy.getOperation()})
    op->setAttr(RematDialect::getPhaseAttrName(), phase);
  pad.getResult().replaceUsesWithIf(copy.getResult(), [](OpOperand &use) {
    return isInBackward(use.getOwner());
  });
  return true;
}

namespace {
struct RebuildPaddingPass
    : remat::impl::RebuildPaddingPassBase<RebuildPaddingPass> {
  void runOnOperation() override {
    SmallVector<tensor::PadOp> pads;
    getOperation()->walk([&](tensor::PadOp pad) { pads.push_back(pad); });
    for (tensor::PadOp pad : pads)
      numRebuilt += rebuild(pad);
  }
};
} // namespace
