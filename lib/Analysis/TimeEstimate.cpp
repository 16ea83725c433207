//===- TimeEstimate.cpp - How long operations take, roughly ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/TimeEstimate.h"

#include "remat/Analysis/RecomputeCostOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

static int64_t countScalars(Block &block);

static int64_t countScalars(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      op->hasTrait<OpTrait::IsTerminator>() || isa<linalg::IndexOp>(op))
    return 0;
  int64_t inside = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      inside += countScalars(block);
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
          arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(op))
    return 8;
  if (isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::FmaOp,
          math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
          math::TruncOp, math::ClampFOp>(op))
    return 1;
  if (isa<PhiloxOp>(op))
    return getRecomputeCost(op);
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return 20;
  return 1 + inside;
}

static int64_t countScalars(Block &block) {
  int64_t scalars = 0;
  for (Operation &op : block)
    scalars += countScalars(&op);
  return scalars;
}

int64_t mlir::remat::countScalars(linalg::LinalgOp op) {
  return ::countScalars(*op.getBlock());
}

int64_t mlir::remat::countAllScalars(linalg::LinalgOp op) {
  return multiplySizes(op.getStaticLoopRanges(), countScalars(op));
}

int64_t mlir::remat::estimateKernelTime(int64_t bytes, int64_t scalars) {
  return kStartTime + std::max(bytes, scalars / kScalarsPerByte);
}

static int64_t estimateProductTime(int64_t bytes, int64_t flops) {
  return kStartTime + std::max(bytes, flops / kProductFlopsPerByte);
}

int64_t mlir::remat::countBytes(Operation *op) {
  llvm::SmallSetVector<Value, 8> values;
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  auto kernel = dyn_cast<linalg::LinalgOp>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isOverwritten =
        destination && destination.isDpsInit(&operand) &&
        (!kernel || !kernel.payloadUsesValueFromOperand(&operand));
    if (isa<ShapedType>(operand.get().getType()) && !isOverwritten)
      values.insert(operand.get());
  }
  values.insert(op->result_begin(), op->result_end());
  int64_t bytes = 0;
  for (Value value : values)
    if (isa<ShapedType>(value.getType()))
      bytes += estimateBytes(value.getType());
  return bytes;
}

/// For each output position of the forward, which the cotangent has as well,
/// one product and one sum for each element of its filter.
template <typename OpT>
static int64_t countFlops(OpT op, Value outputs, Value filters) {
  auto filterType = cast<ShapedType>(filters.getType());
  int64_t numFilters = op.getChannelsFirst() ? filterType.getDimSize(0)
                                             : filterType.getShape().back();
  int64_t taps = multiplySizes(filterType.getShape()) /
                 std::max<int64_t>(multiplySizes({numFilters}), 1);
  return multiplySizes(cast<ShapedType>(outputs.getType()).getShape(),
                       multiplySizes({2}, taps));
}

int64_t mlir::remat::estimateTime(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    int64_t body = 0;
    for (Operation &inner : *loop.getBody())
      body += estimateTime(&inner);
    std::optional<llvm::APInt> trips = loop.getStaticTripCount();
    bool isKnown = trips && trips->isSignedIntN(64);
    return multiplySizes({body}, isKnown ? trips->getSExtValue() : 1);
  }
  if (auto conv = dyn_cast<ConvOp>(op))
    return estimateProductTime(countBytes(op),
                               countFlops(conv, conv.getInit(), conv.getRhs()));
  if (auto conv = dyn_cast<ConvBackwardDataOp>(op))
    return estimateProductTime(countBytes(op),
                               countFlops(conv, conv.getLhs(), conv.getRhs()));
  if (auto conv = dyn_cast<ConvBackwardFilterOp>(op))
    return estimateProductTime(countBytes(op),
                               countFlops(conv, conv.getRhs(), conv.getInit()));
  if (auto kernel = dyn_cast<linalg::LinalgOp>(op)) {
    if (isGenerator(op))
      return 0;
    bool isProduct = op->hasAttr("remat.conv") ||
                     linalg::isaContractionOpInterface(kernel) ||
                     linalg::isaConvolutionOpInterface(kernel);
    return isProduct
               ? estimateProductTime(countBytes(op), getRecomputeCost(op))
               : estimateKernelTime(countBytes(op), countAllScalars(kernel));
  }
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    auto updates = cast<ShapedType>(scatter.getUpdates().getType());
    int64_t scalars = ::countScalars(scatter.getBody().front());
    return estimateKernelTime(countBytes(op),
                              multiplySizes(updates.getShape(), scalars + 1));
  }
  if (op->getNumRegions() != 0) {
    int64_t inside = 0;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        inside += estimateTime(&inner);
    return inside;
  }
  bool hasTensor = llvm::any_of(
      op->getResultTypes(), [](Type type) { return isa<ShapedType>(type); });
  if (!hasTensor || isFree(op) || isGenerator(op) ||
      isa<BarrierOp, PlanOp, NameOp, TapeReadOp>(op))
    return 0;
  // A slice that is written in place moves its own bytes only.
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return kStartTime + 2 * estimateBytes(insert.getSourceType());
  if (auto write = dyn_cast<TapeWriteOp>(op))
    return kStartTime + 2 * estimateBytes(write.getValue().getType());
  return kStartTime + countBytes(op);
}
