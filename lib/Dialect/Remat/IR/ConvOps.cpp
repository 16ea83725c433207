//===- ConvOps.cpp - Padded convolutions ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the three convolutions check and touch.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/ConvLayout.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

using namespace mlir;
using namespace mlir::remat;

/// Compares a static dimension with what the others make of it.
static LogicalResult expectSize(Operation *op, Value value, unsigned dimension,
                                int64_t expected, StringRef what) {
  int64_t actual = cast<ShapedType>(value.getType()).getDimSize(dimension);
  if (ShapedType::isDynamic(actual) || ShapedType::isDynamic(expected) ||
      actual == expected)
    return success();
  return op->emitOpError() << what << " must be " << expected << ", got "
                           << actual;
}

/// Larger steps and images are of no use, and sums of sizes would overflow.
static constexpr int64_t kMostPositions = std::numeric_limits<int32_t>::max();

/// `images`, `filters` and `results` are the operands in these roles.
static LogicalResult verifyConv(Operation *op, Value images, Value filters,
                                Value results, ArrayRef<int64_t> strides,
                                ArrayRef<int64_t> dilations,
                                ArrayRef<int64_t> padding, bool channelsFirst) {
  auto rankOf = [](Value value) {
    return cast<ShapedType>(value.getType()).getRank();
  };
  if (rankOf(filters) != rankOf(images) || rankOf(results) != rankOf(images))
    return op->emitOpError() << "operands must have one number of dimensions";
  unsigned rank = rankOf(images) - 2;
  if (strides.size() != rank || dilations.size() != rank ||
      padding.size() != 2 * rank)
    return op->emitOpError() << "needs " << rank << " strides, " << rank
                             << " dilations and " << 2 * rank << " paddings";
  for (int64_t value : llvm::concat<const int64_t>(strides, dilations))
    if (value < 1 || value > kMostPositions)
      return op->emitOpError() << "strides and dilations must be positive, and "
                                  "at most "
                               << kMostPositions << ", got " << value;
  for (int64_t value : padding)
    if (value < 0 || value > kMostPositions)
      return op->emitOpError() << "padding must not be negative, and at most "
                               << kMostPositions << ", got " << value;
  Type element = cast<ShapedType>(images.getType()).getElementType();
  for (Value value : {filters, results})
    if (cast<ShapedType>(value.getType()).getElementType() != element)
      return op->emitOpError() << "operands must have one element type";

  auto size = [](Value value, unsigned dimension) {
    return cast<ShapedType>(value.getType()).getDimSize(dimension);
  };
  ::remat::ConvDims dims = ::remat::getConvDims(channelsFirst, rank);
  if (failed(expectSize(op, results, 0, size(images, 0), "the batch size")) ||
      failed(expectSize(op, results, dims.channel, size(filters, dims.filter),
                        "the number of output channels")))
    return failure();
  int64_t channels = size(images, dims.channel),
          inputs = size(filters, dims.filterChannel),
          outputs = size(filters, dims.filter);
  if (channels != inputs && !ShapedType::isDynamic(channels) &&
      !ShapedType::isDynamic(inputs) && !ShapedType::isDynamic(outputs)) {
    int64_t groups =
        inputs > 0 && channels % inputs == 0 ? channels / inputs : 0;
    if (groups < 2 || outputs % groups != 0)
      return op->emitOpError()
             << "the number of input channels must be " << channels
             << ", or a part of it that makes groups of equal size, got "
             << inputs << " for " << outputs << " output channels";
    if (!channelsFirst && (inputs != 1 || outputs != groups))
      return op->emitOpError() << "channels last, a group has one channel and "
                                  "one filter; make it channels_first";
  }
  StringRef names[] = {"depth", "height", "width"};
  for (unsigned i = 0; i < rank; ++i) {
    StringRef name = names[i + 3 - rank];
    int64_t input = size(images, dims.space + i),
            window = size(filters, dims.filterSpace + i);
    if (window == 0)
      return op->emitOpError() << "a filter needs at least one position";
    for (int64_t positions : {input, window})
      if (positions > kMostPositions)
        return op->emitOpError()
               << "the " << name << " of images and filters must be at most "
               << kMostPositions << ", got " << positions;
    if (ShapedType::isDynamic(input) || ShapedType::isDynamic(window))
      continue;
    int64_t span = dilations[i] * (window - 1) + 1;
    int64_t padded = input + padding[2 * i] + padding[2 * i + 1];
    if (padded < span)
      return op->emitOpError() << "the filter is larger than the padded image";
    int64_t most = (padded - span) / strides[i] + 1,
            result = size(results, dims.space + i);
    if (!ShapedType::isDynamic(result) && result > most)
      return op->emitOpError()
             << "the " << name << " of the result must be at most " << most
             << ", got " << result;
  }
  return success();
}

LogicalResult ConvOp::verify() {
  return verifyConv(*this, getLhs(), getRhs(), getInit(), getStrides(),
                    getDilations(), getPadding(), getChannelsFirst());
}

LogicalResult ConvBackwardDataOp::verify() {
  return verifyConv(*this, getInit(), getRhs(), getLhs(), getStrides(),
                    getDilations(), getPadding(), getChannelsFirst());
}

LogicalResult ConvBackwardFilterOp::verify() {
  return verifyConv(*this, getLhs(), getInit(), getRhs(), getStrides(),
                    getDilations(), getPadding(), getChannelsFirst());
}

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

static void addEffects(Operation *op, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (operand.getOperandNumber() < 2)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

void ConvOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void ConvBackwardDataOp::getEffects(Effects &effects) {
  addEffects(*this, effects);
}
void ConvBackwardFilterOp::getEffects(Effects &effects) {
  addEffects(*this, effects);
}
