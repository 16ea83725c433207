//===- CheapSlice.cpp - Values that are cheaper to recompute --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A padded image is another tensor and constants around it, a mask or a shifted
// index is computed from the model's inputs, and a value that an exporter
// computes in a wider type, to round it, is not one of the model at all.
//===----------------------------------------------------------------------===//

#include "CheapSlice.h"

#include "remat/Analysis/Cost.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

/// Returns true if keeping the source instead of the result is worth a copy:
/// the source is kept anyway, or padding adds at least an eighth of it.
static bool pays(tensor::PadOp pad, function_ref<bool(Value)> isKept) {
  if (isKept(pad.getSource()))
    return true;
  RankedTensorType source = pad.getSourceType(), result = pad.getResultType();
  return source.hasStaticShape() && result.hasStaticShape() &&
         result.getNumElements() - source.getNumElements() >=
             source.getNumElements() / 8;
}

/// Returns true if `op` computes masks or indices, by a few operations for
/// each.
static bool makesIntegers(LinalgOp op) {
  return isFusableProducer(op) && isCheap(op) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           return getElementTypeOrSelf(type).isIntOrIndex();
         });
}

/// Returns true if `op` computes floating-point numbers elementwise or as sums
/// over rows.
static bool makesFloats(LinalgOp op) {
  return (isFusableProducer(op) ||
          (isFusableConsumer(op) && !readsTensorsInBody(op))) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           return isa<FloatType>(getElementTypeOrSelf(type));
         });
}

/// More operations are not cheap.
static constexpr unsigned kMaxOps = 8;

namespace {
/// The operations that compute a value from others that are kept until the
/// backward anyway.
class Slice {
public:
  Slice(function_ref<bool(Value)> isKept, function_ref<bool(Value)> isFused)
      : isKept(isKept), isFused(isFused) {}

  /// Returns true if `value` is cheap to compute, and something is gained by
  /// it.
  bool canMake(Value value) {
    return addProducer(value) && !sources.empty() && hasKernel &&
           (floatWidth == 0 || floatWidth > getWidestSource());
  }

  SetVector<Value> sources;

private:
  bool add(Value value) {
    if (!isa<TensorType>(value.getType()))
      return true;
    if (isKept(value)) {
      sources.insert(value);
      return true;
    }
    return addProducer(value);
  }

  bool addProducer(Value value) {
    Operation *op = value.getDefiningOp();
    if (ops.contains(op))
      return true;
    if (ops.size() + numPending == kMaxOps)
      return false;
    ++numPending;
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      if (!pad.getConstantPaddingValue() || !pays(pad, isKept))
        return false;
      sources.insert(pad.getSource());
      hasKernel = true;
    } else if (!canAdd(op) || !llvm::all_of(op->getOperands(),
                                            [&](Value v) { return add(v); })) {
      return false;
    }
    --numPending;
    ops.insert(op);
    return true;
  }

  /// Returns true if `op` itself is cheap.
  bool canAdd(Operation *op) {
    if (isa<tensor::EmptyOp, linalg::FillOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp>(op))
      return true;
    auto kernel = dyn_cast<LinalgOp>(op);
    if (!kernel)
      return false;
    hasKernel = true;
    if (makesIntegers(kernel))
      return true;
    if (!makesFloats(kernel))
      return false;
    if (isFused(op->getResult(0)))
      return true;
    for (Type type : op->getResultTypes()) {
      unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
      floatWidth = floatWidth ? std::min(floatWidth, width) : width;
    }
    numReductions += !isParallel(kernel);
    return numReductions <= 1;
  }

  unsigned getWidestSource() const {
    unsigned widest = 0;
    for (Value source : sources)
      if (auto type = dyn_cast<FloatType>(getElementTypeOrSelf(source)))
        widest = std::max(widest, type.getWidth());
    return widest;
  }

  function_ref<bool(Value)> isKept, isFused;
  SetVector<Operation *> ops;
  /// Operations whose operands are being added.
  unsigned numPending = 0;
  /// The width of the narrowest floating-point numbers that a kernel computes,
  /// or 0 if there is no such kernel.
  unsigned floatWidth = 0;
  unsigned numReductions = 0;
  bool hasKernel = false;
};
} // namespace

std::optional<SetVector<Value>>
mlir::remat::getCheapSlice(Value value, function_ref<bool(Value)> isKept,
                           function_ref<bool(Value)> isFused) {
  Slice slice(isKept, isFused);
  if (!slice.canMake(value))
    return std::nullopt;
  return slice.sources;
}
