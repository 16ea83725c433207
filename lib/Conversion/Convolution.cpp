//===- Convolution.cpp - Which operand of a convolution is what -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Convolution.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

StringRef Convolution::getSuffix() const {
  switch (kind) {
  case Kind::Forward:
    return "";
  case Kind::BackwardData:
    return "_backward_data";
  case Kind::BackwardFilter:
    return "_backward_filter";
  }
  llvm_unreachable("unknown kind of convolution");
}

bool Convolution::hasKnownSizes() const {
  auto isKnown = [](Value value, unsigned firstDim) {
    return !ShapedType::isDynamicShape(
        cast<ShapedType>(value.getType()).getShape().drop_front(firstDim));
  };
  return isKnown(images, 1) && isKnown(filters, 0) && isKnown(results, 1);
}

std::optional<Convolution> mlir::remat::getConvolution(Operation *op) {
  using Kind = Convolution::Kind;
  auto make = [](auto conv, Kind kind, Value images, Value filters,
                 Value results) {
    return Convolution{conv,
                       kind,
                       images,
                       filters,
                       results,
                       conv.getStrides(),
                       conv.getDilations(),
                       conv.getPadding(),
                       conv.getChannelsFirst()};
  };
  if (auto conv = dyn_cast<ConvOp>(op))
    return make(conv, Kind::Forward, conv.getLhs(), conv.getRhs(),
                conv.getInit());
  if (auto conv = dyn_cast<ConvBackwardDataOp>(op))
    return make(conv, Kind::BackwardData, conv.getInit(), conv.getRhs(),
                conv.getLhs());
  if (auto conv = dyn_cast<ConvBackwardFilterOp>(op))
    return make(conv, Kind::BackwardFilter, conv.getLhs(), conv.getInit(),
                conv.getRhs());
  return std::nullopt;
}
