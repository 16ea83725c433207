//===- FusePadding.cpp - Convolutions that pad by themselves --------------===//
//
// Front ends pad with an operation of its own. The padded image is then one
// more residual, as large as the image that the backward needs anyway.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Fuse/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FUSEPADDINGPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The destination that `value` fills with zero, or null.
static Value getZeroFilled(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.value(), m_AnyZeroFloat()))
    return nullptr;
  return fill.output();
}

/// Padding of `images` in y and x if that is all `pad` does, and it pads with
/// zero.
static std::optional<SmallVector<int64_t>> getZeroPadding(tensor::PadOp pad) {
  Value value = pad.getConstantPaddingValue();
  if (!value || !matchPattern(value, m_AnyZeroFloat()) || pad.getNofold())
    return std::nullopt;
  ArrayRef<int64_t> low = pad.getStaticLow(), high = pad.getStaticHigh();
  if (low.size() != 4 || low[0] || low[3] || high[0] || high[3])
    return std::nullopt;
  SmallVector<int64_t> padding{low[1], high[1], low[2], high[2]};
  if (llvm::any_of(padding, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  return padding;
}

namespace {
struct FusePadding : OpRewritePattern<linalg::Conv2DNhwcHwcfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::Conv2DNhwcHwcfOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return failure();
    Value images = op.getInputs()[0], filters = op.getInputs()[1];
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Value destination = getZeroFilled(op.getOutputs()[0]);
    auto hasElement = [&](Value value) {
      return cast<ShapedType>(value.getType()).getElementType() ==
             type.getElementType();
    };
    if (!destination || !hasElement(images) || !hasElement(filters) ||
        !(type.getElementType().isF32() || type.getElementType().isF64()))
      return failure();
    SmallVector<int64_t> padding(4, 0);
    Location loc = op.getLoc();
    if (auto pad = images.getDefiningOp<tensor::PadOp>())
      if (std::optional<SmallVector<int64_t>> found = getZeroPadding(pad)) {
        padding = *found;
        images = pad.getSource();
        loc = rewriter.getFusedLoc({pad.getLoc(), loc});
      }
    auto values = [](DenseIntElementsAttr attr) {
      return llvm::to_vector(attr.getValues<int64_t>());
    };
    auto conv = Conv2DOp::create(rewriter, loc, type, images, filters,
                                 destination, values(op.getStrides()),
                                 values(op.getDilations()), padding);
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (attribute.getName() !=
          linalg::LinalgDialect::kMemoizedIndexingMapsAttrName)
        conv->setDiscardableAttr(attribute.getName(), attribute.getValue());
    rewriter.replaceOp(op, conv->getResults());
    return success();
  }
};

struct FusePaddingPass
    : mlir::remat::impl::FusePaddingPassBase<FusePaddingPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FusePadding>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
