//===- ConvCall.cpp - A convolution as the runtime sees it ----------------===//

#include "ConvCall.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;
namespace runtime = ::remat;

/// More images than this take no larger workspace.
static constexpr int64_t kManyImages = 1 << 20;

std::array<int64_t, 6> ConvCall::getWindow() const {
  return {strides[0],   strides[1], dilations[0],
          dilations[1], padding[0], padding[2]};
}

std::string ConvCall::getFunction() const {
  bool isF64 = getElementTypeOrSelf(images).isF64();
  return ("remat_conv_2d" + Twine(channelsFirst ? "_channels_first" : "") +
          suffix + (isF64 ? "_f64" : "_f32"))
      .str();
}

/// No number of images needs a larger workspace than many.
std::optional<runtime::ConvShape> ConvCall::getShape() const {
  ArrayRef<int64_t> x = cast<ShapedType>(images.getType()).getShape(),
                    w = cast<ShapedType>(filters.getType()).getShape(),
                    y = cast<ShapedType>(results.getType()).getShape();
  if (ShapedType::isDynamicShape(x.drop_front()) ||
      ShapedType::isDynamicShape(w) ||
      ShapedType::isDynamicShape(y.drop_front()))
    return std::nullopt;
  SmallVector<int64_t> sizes(x);
  if (ShapedType::isDynamic(sizes[0]))
    sizes[0] = kManyImages;
  return runtime::getConvShape(sizes.data(), w.data(), y.data(),
                               getWindow().data(), channelsFirst);
}

std::optional<int64_t> ConvCall::getWorkspaceBytes(int64_t threads) const {
  std::optional<runtime::ConvShape> shape = getShape();
  if (!shape)
    return std::nullopt;
  if (shape->isEmpty() || shape->isDirect())
    return 0;
  return planners[channelsFirst](*shape).workspaceElements(threads) *
         getElementTypeOrSelf(images).getIntOrFloatBitWidth() / 8;
}

LogicalResult mlir::remat::checkThreads(Operation *op, int64_t threads) {
  if (threads >= 1)
    return success();
  return op->emitError("threads must be at least 1, but got ") << threads;
}

std::optional<ConvCall> mlir::remat::getConvCall(Operation *op) {
  using Planner = ConvCall::Planner;
  auto make = [](auto conv, Value images, Value filters, Value results,
                 StringRef suffix, Planner last, Planner first) {
    return ConvCall{conv,
                    images,
                    filters,
                    results,
                    conv.getStrides(),
                    conv.getDilations(),
                    conv.getPadding(),
                    conv.getChannelsFirst(),
                    suffix,
                    {last, first}};
  };
  if (auto conv = dyn_cast<Conv2DOp>(op))
    return make(conv, conv.getLhs(), conv.getRhs(), conv.getInit(), "",
                runtime::planConvForward, runtime::planChannelsFirstForward);
  if (auto conv = dyn_cast<Conv2DBackwardDataOp>(op))
    return make(conv, conv.getInit(), conv.getRhs(), conv.getLhs(),
                "_backward_data", runtime::planConvBackwardData,
                runtime::planChannelsFirstBackwardData);
  if (auto conv = dyn_cast<Conv2DBackwardFilterOp>(op))
    return make(conv, conv.getLhs(), conv.getInit(), conv.getRhs(),
                "_backward_filter", runtime::planConvBackwardFilter,
                runtime::planChannelsFirstBackwardFilter);
  return std::nullopt;
}
