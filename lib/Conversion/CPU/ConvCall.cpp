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
          getSuffix() + (isF64 ? "_f64" : "_f32"))
      .str();
}

static ArrayRef<int64_t> getSizes(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

/// Whether the runtime can count the elements of `shape`, and a plan for it
/// those that a task gathers.
static bool isCountable(ArrayRef<int64_t> shape) {
  constexpr int64_t kMostElements = int64_t(1) << 48;
  if (llvm::is_contained(shape, 0))
    return true;
  int64_t elements = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(elements, size, elements) || elements > kMostElements)
      return false;
  return true;
}

/// No number of images needs a larger workspace than many.
std::optional<runtime::ConvShape> ConvCall::getShape() const {
  if (!hasKnownSizes())
    return std::nullopt;
  ArrayRef<int64_t> w = getSizes(filters);
  SmallVector<int64_t> sizes(getSizes(images)), outputs(getSizes(results));
  if (ShapedType::isDynamic(sizes[0]))
    sizes[0] = kManyImages;
  outputs[0] = sizes[0];
  if (!isCountable(sizes) || !isCountable(w) || !isCountable(outputs))
    return std::nullopt;
  return runtime::getConvShape(sizes.data(), w.data(), outputs.data(),
                               getWindow().data(), channelsFirst);
}

std::optional<int64_t> ConvCall::getWorkspaceBytes(int64_t threads) const {
  std::optional<runtime::ConvShape> shape = getShape();
  if (!shape)
    return std::nullopt;
  if (shape->isEmpty() || shape->isDirect())
    return 0;
  runtime::ConvPlan plan = planners[channelsFirst](*shape);
  int64_t slots, bytes;
  if (llvm::MulOverflow(std::min(threads, plan.tasks), plan.slotElements,
                        slots) ||
      llvm::AddOverflow(slots, plan.sharedElements, bytes) ||
      llvm::MulOverflow<int64_t>(
          bytes, getElementTypeOrSelf(images).getIntOrFloatBitWidth() / 8,
          bytes))
    return std::nullopt;
  return bytes;
}

LogicalResult mlir::remat::checkThreads(Operation *op, int64_t threads) {
  if (threads >= 1)
    return success();
  return op->emitError("threads must be at least 1, but got ") << threads;
}

std::optional<ConvCall> mlir::remat::getConvCall(Operation *op) {
  std::optional<Convolution> conv = getConvolution(op);
  if (!conv)
    return std::nullopt;
  switch (conv->kind) {
  case Convolution::Kind::Forward:
    return ConvCall{
        *conv, {runtime::planConvForward, runtime::planChannelsFirstForward}};
  case Convolution::Kind::BackwardData:
    return ConvCall{*conv,
                    {runtime::planConvBackwardData,
                     runtime::planChannelsFirstBackwardData}};
  case Convolution::Kind::BackwardFilter:
    return ConvCall{*conv,
                    {runtime::planConvBackwardFilter,
                     runtime::planChannelsFirstBackwardFilter}};
  }
  llvm_unreachable("unknown kind of convolution");
}
