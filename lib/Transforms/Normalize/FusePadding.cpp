//===- FusePadding.cpp - Convolutions that pad by themselves --------------===//
//
// Front ends pad with an operation of its own. The padded image is then one
// more residual, as large as the image that the backward needs anyway.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Normalize/Passes.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FUSEPADDINGPASS
#include "remat/Transforms/Normalize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Where the dimensions of a convolution's operands go in those of
/// remat.conv_2d, one digit for each of them.
namespace {
struct Layout {
  bool channelsFirst;
  StringRef images, filters, results;
};
} // namespace

static bool hasOneFilterEach(Operation *depthwise) {
  return cast<ShapedType>(depthwise->getOperand(1).getType())
             .getShape()
             .back() == 1;
}

/// One dimension in space becomes the width, groups become one dimension with
/// their channels, and the filters of depthwise convolutions have one channel.
static std::optional<Layout> getLayout(Operation *op) {
  using Found = std::optional<Layout>;
  return TypeSwitch<Operation *, Found>(op)
      .Case<linalg::Conv2DNhwcHwcfOp>(
          [](auto) { return Layout{false, "0123", "0123", "0123"}; })
      .Case<linalg::Conv2DNchwFchwOp>(
          [](auto) { return Layout{true, "0123", "0123", "0123"}; })
      .Case<linalg::Conv1DNwcWcfOp>(
          [](auto) { return Layout{false, "023", "123", "023"}; })
      .Case<linalg::Conv1DNcwFcwOp>(
          [](auto) { return Layout{true, "013", "013", "013"}; })
      .Case<linalg::Conv2DNgchwGfchwOp>(
          [](auto) { return Layout{true, "01123", "00123", "01123"}; })
      .Case<linalg::DepthwiseConv1DNcwCwOp>(
          [](auto) { return Layout{true, "013", "03", "013"}; })
      .Case<linalg::DepthwiseConv2DNchwChwOp>(
          [](auto) { return Layout{true, "0123", "023", "0123"}; })
      .Case<linalg::DepthwiseConv1DNwcWcOp>(
          [](auto) { return Layout{false, "023", "13", "023"}; })
      .Case<linalg::DepthwiseConv2DNhwcHwcOp>(
          [](auto) { return Layout{false, "0123", "013", "0123"}; })
      .Case<linalg::DepthwiseConv1DNwcWcmOp>([](auto conv) -> Found {
        if (!hasOneFilterEach(conv))
          return std::nullopt;
        return Layout{false, "023", "133", "0233"};
      })
      .Case<linalg::DepthwiseConv2DNhwcHwcmOp>([](auto conv) -> Found {
        if (!hasOneFilterEach(conv))
          return std::nullopt;
        return Layout{false, "0123", "0133", "01233"};
      })
      .Default(Found());
}

/// The dimensions that become one, and then those that one becomes: 4 of them,
/// of which some are new.
static std::pair<SmallVector<ReassociationIndices>,
                 SmallVector<ReassociationIndices>>
getReassociations(StringRef layout) {
  SmallVector<ReassociationIndices> merged, split;
  ReassociationIndices leading;
  for (unsigned dim = 0; dim < 4; ++dim) {
    ReassociationIndices sources;
    for (auto [position, digit] : llvm::enumerate(layout))
      if (digit == char('0' + dim))
        sources.push_back(position);
    leading.push_back(dim);
    // A new dimension goes with the next one; the last one is never new.
    if (sources.empty())
      continue;
    merged.push_back(sources);
    split.push_back(leading);
    leading.clear();
  }
  return {merged, split};
}

static RankedTensorType getMergedType(RankedTensorType type,
                                      ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : groups) {
    shape.push_back(1);
    for (int64_t dim : group)
      shape.back() = ShapedType::isDynamic(type.getDimSize(dim))
                         ? ShapedType::kDynamic
                         : shape.back() * type.getDimSize(dim);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

static Value toConv2D(OpBuilder &builder, Location loc, Value value,
                      StringRef layout) {
  auto [merged, split] = getReassociations(layout);
  auto type = getMergedType(cast<RankedTensorType>(value.getType()), merged);
  if (merged.size() != layout.size())
    value = tensor::CollapseShapeOp::create(builder, loc, type, value, merged);
  if (split.size() == 4)
    return value;
  SmallVector<int64_t> shape(4, 1);
  for (auto [group, size] : llvm::zip_equal(split, type.getShape()))
    shape[group.back()] = size;
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      split);
}

static Value fromConv2D(OpBuilder &builder, Location loc, Value value,
                        StringRef layout, RankedTensorType type) {
  auto [merged, split] = getReassociations(layout);
  if (split.size() != 4)
    value = tensor::CollapseShapeOp::create(
        builder, loc, getMergedType(type, merged), value, split);
  if (merged.size() != layout.size())
    value = tensor::ExpandShapeOp::create(builder, loc, type, value, merged);
  return value;
}

/// Padding of the dimensions in space, which begin at `first`, if that is all
/// that `pad` does and it pads with zero.
static std::optional<SmallVector<int64_t>>
getZeroPadding(tensor::PadOp pad, unsigned first, unsigned rank) {
  Value value = pad.getConstantPaddingValue();
  if (!value || !matchPattern(value, m_AnyZeroFloat()) || pad.getNofold())
    return std::nullopt;
  ArrayRef<int64_t> low = pad.getStaticLow(), high = pad.getStaticHigh();
  SmallVector<int64_t> padding(4, 0);
  for (unsigned i = 0, e = low.size(); i < e; ++i) {
    bool isInSpace = i >= first && i < first + rank;
    if ((!isInSpace && (low[i] || high[i])) || low[i] < 0 || high[i] < 0)
      return std::nullopt;
    if (!isInSpace)
      continue;
    unsigned axis = i - first + 2 - rank;
    padding[2 * axis] = low[i];
    padding[2 * axis + 1] = high[i];
  }
  return padding;
}

static bool isStaticButForBatch(Value images) {
  auto type = cast<RankedTensorType>(images.getType());
  return !ShapedType::isDynamicShape(type.getShape().drop_front());
}

/// Whether the library has the types and a workspace can be reserved.
static bool isForLibrary(linalg::LinalgOp op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  auto filters = cast<RankedTensorType>(op->getOperand(1).getType());
  return (element.isF32() || element.isF64()) &&
         llvm::all_of(op->getOperandTypes(),
                      [&](Type type) {
                        return getElementTypeOrSelf(type) == element;
                      }) &&
         isStaticButForBatch(op->getOperand(0)) && filters.hasStaticShape() &&
         isStaticButForBatch(op->getOperand(2));
}

namespace {
struct FusePadding : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern<linalg::LinalgOp>::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Layout> layout = getLayout(op);
    if (!layout || !op.hasPureTensorSemantics() || !isForLibrary(op))
      return failure();
    Value images = op->getOperand(0), filters = op->getOperand(1);
    Value initial = op->getOperand(2);
    auto type = cast<RankedTensorType>(initial.getType());
    Location loc = op.getLoc();
    // Of the height where there is none, and where the operation says nothing.
    auto valuesOf = [&](StringRef name) {
      SmallVector<int64_t> values(2, 1);
      if (auto given = op->getAttrOfType<DenseIntElementsAttr>(name))
        for (auto [i, value] :
             llvm::enumerate(llvm::reverse(given.getValues<int64_t>())))
          values[1 - i] = value;
      return values;
    };
    SmallVector<int64_t> padding(4, 0);
    if (auto pad = images.getDefiningOp<tensor::PadOp>();
        pad && isStaticButForBatch(pad.getSource())) {
      StringRef inSpace = layout->channelsFirst ? "23" : "12";
      unsigned first = layout->images.find_first_of(inSpace);
      unsigned rank = layout->images.find_last_of(inSpace) + 1 - first;
      if (auto found = getZeroPadding(pad, first, rank)) {
        padding = *found;
        images = pad.getSource();
        loc = rewriter.getFusedLoc({pad.getLoc(), loc});
      }
    }
    auto createEmpty = [&] {
      return tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, initial),
          type.getElementType());
    };
    Value destination = getZeroFilled(initial);
    Value empty =
        toConv2D(rewriter, loc, destination ? destination : createEmpty(),
                 layout->results);
    auto conv =
        Conv2DOp::create(rewriter, loc, empty.getType(),
                         toConv2D(rewriter, loc, images, layout->images),
                         toConv2D(rewriter, loc, filters, layout->filters),
                         empty, valuesOf("strides"), valuesOf("dilations"),
                         padding, layout->channelsFirst);
    copyAttributes(op, conv);
    Value result =
        fromConv2D(rewriter, loc, conv->getResult(0), layout->results, type);
    if (!destination) { // Such as a bias, which fuses with what follows.
      auto add = linalg::AddOp::create(rewriter, loc, TypeRange(type),
                                       ValueRange{initial, result},
                                       ValueRange{createEmpty()});
      copyAttributes(op, add);
      result = add.getResult(0);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct FusePaddingPass
    : mlir::remat::impl::FusePaddingPassBase<FusePaddingPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FusePadding>(&getContext());
    bool changed = false;
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig(), &changed)))
      return signalPassFailure();
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
