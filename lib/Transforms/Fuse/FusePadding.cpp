//===- FusePadding.cpp - Convolutions that pad by themselves --------------===//
//
// Front ends pad with an operation of its own. The padded image is then one
// more residual, as large as the image that the backward needs anyway.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseFusion.h"
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

/// Padding of height and width (`row` is the height) if that is all `pad` does,
/// and it pads with zero.
static std::optional<SmallVector<int64_t>> getZeroPadding(tensor::PadOp pad,
                                                          unsigned row) {
  Value value = pad.getConstantPaddingValue();
  if (!value || !matchPattern(value, m_AnyZeroFloat()) || pad.getNofold())
    return std::nullopt;
  ArrayRef<int64_t> low = pad.getStaticLow(), high = pad.getStaticHigh();
  for (unsigned i = 0, e = low.size(); i < e; ++i)
    if (i != row && i != row + 1 && (low[i] || high[i]))
      return std::nullopt;
  SmallVector<int64_t> padding{low[row], high[row], low[row + 1],
                               high[row + 1]};
  if (llvm::any_of(padding, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  return padding;
}

/// Whether the library has the types and a workspace can be reserved.
static bool isForLibrary(linalg::LinalgOp op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return (element.isF32() || element.isF64()) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           auto tensor = cast<RankedTensorType>(type);
           return tensor.hasStaticShape() && tensor.getElementType() == element;
         });
}

namespace {
template <typename OpTy, bool channelsFirst>
struct FusePadding : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || !isForLibrary(op))
      return failure();
    Value images = op.getInputs()[0], filters = op.getInputs()[1];
    Value initial = op.getOutputs()[0];
    auto type = cast<RankedTensorType>(initial.getType());
    SmallVector<int64_t> padding(4, 0);
    Location loc = op.getLoc();
    if (auto pad = images.getDefiningOp<tensor::PadOp>())
      if (auto found = getZeroPadding(pad, channelsFirst ? 2 : 1)) {
        padding = *found;
        images = pad.getSource();
        loc = rewriter.getFusedLoc({pad.getLoc(), loc});
      }
    auto values = [](DenseIntElementsAttr attr) {
      return llvm::to_vector(attr.getValues<int64_t>());
    };
    auto createEmpty = [&] {
      return tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                     type.getElementType());
    };
    Value destination = getZeroFilled(initial);
    auto conv = Conv2DOp::create(
        rewriter, loc, type, images, filters,
        destination ? destination : createEmpty(), values(op.getStrides()),
        values(op.getDilations()), padding, channelsFirst);
    copyAttributes(op, conv);
    if (destination)
      rewriter.replaceOp(op, conv->getResults());
    else // Such as a bias, which fuses with what follows.
      rewriter.replaceOpWithNewOp<linalg::AddOp>(
          op, TypeRange(type), ValueRange{initial, conv->getResult(0)},
          ValueRange{createEmpty()});
    return success();
  }
};

struct FusePaddingPass
    : mlir::remat::impl::FusePaddingPassBase<FusePaddingPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FusePadding<linalg::Conv2DNhwcHwcfOp, false>,
                 FusePadding<linalg::Conv2DNchwFchwOp, true>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
