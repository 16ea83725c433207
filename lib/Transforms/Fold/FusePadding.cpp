//===- FusePadding.cpp - Convolutions with padding of their own -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends pad with an operation of its own. The padded image is then one
// more residual, as large as the image that the backward needs anyway.
//===----------------------------------------------------------------------===//

#include "ConvOperands.h"
#include "TransposedConv.h"
#include "remat/Transforms/Fold/Passes.h"
#include "remat/Transforms/Match/PlainCopy.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FUSEPADDINGPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Transposed convolutions go first: as padded ones they would keep zeros
/// between elements.
struct FusePadding : OpInterfaceRewritePattern<linalg::LinalgOp> {
  FusePadding(MLIRContext *context, unsigned mostDims)
      : OpInterfaceRewritePattern(context), mostDims(mostDims) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<ConvForm> form = getConvForm(op);
    if (!form || form->rank > mostDims || !isConvForLibrary(op))
      return failure();
    if (Value raised = raiseTransposedConv(rewriter, op)) {
      rewriter.replaceOp(op, raised);
      return success();
    }
    PaddedImages images =
        getPaddedImages(op->getOperand(0), *form, /*mayStuff=*/false);
    SmallVector<int64_t> padding;
    for (const PaddedAxis &axis : images.axes)
      llvm::append_values(padding, axis.low, axis.high());
    rewriter.replaceOp(op, createConv<ConvOp>(rewriter, op, *form, images,
                                              op->getOperand(1), form->strides,
                                              padding));
    return success();
  }

private:
  unsigned mostDims;
};

/// The match does not depend on where names and borders of regions stand, as
/// the sums of a transposed convolution have another order than those of its
/// stuffed image.
void raiseTransposedConvsIn(Operation *function, unsigned mostDims) {
  PlainCopy plain(function);
  SmallVector<linalg::LinalgOp> convolutions;
  plain.get()->walk([&](linalg::LinalgOp op) {
    if (auto form = getConvForm(op); form && form->rank <= mostDims)
      convolutions.push_back(op);
  });
  IRRewriter rewriter(function->getContext(), plain.getListener());
  SmallVector<Operation *> raised;
  for (linalg::LinalgOp op : convolutions) {
    rewriter.setInsertionPoint(op);
    if (Value result = raiseTransposedConv(rewriter, op)) {
      rewriter.replaceOp(op, result);
      raised.push_back(result.getDefiningOp());
    }
  }
  for (Operation *op : raised)
    plain.transplant(op);
  plain.eraseDead("a transposed convolution reads no zeros; name what it reads "
                  "or its result, or read the value elsewhere, too");
}

struct FusePaddingPass
    : mlir::remat::impl::FusePaddingPassBase<FusePaddingPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> bordered;
    getOperation()->walk([&](FunctionOpInterface function) {
      bool hasBorders = false, hasConvs = false, mayStuff = false;
      function->walk([&](Operation *op) {
        hasBorders |= isa<NameOp, RegionOp>(op);
        hasConvs |= getConvForm(op).has_value();
        mayStuff |= isa<tensor::InsertSliceOp>(op);
      });
      if (hasBorders && hasConvs && mayStuff)
        bordered.push_back(function);
    });
    for (Operation *function : bordered)
      raiseTransposedConvsIn(function, mostDims);
    RewritePatternSet patterns(&getContext());
    patterns.add<FusePadding>(&getContext(), mostDims);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
