//===- Cost.cpp - What operations cost ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs live here and in the operations' own dialects, not in the passes that
// weigh them.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Cost.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Analysis/RecomputeCostOpInterface.cpp.inc"

//===----------------------------------------------------------------------===//
// Operations that are free
//===----------------------------------------------------------------------===//

bool mlir::remat::isGenerator(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->getNumRegions() == 0 && isPure(op);
  if (isa<RandomBitsOp, RandomUniformOp, RandomNormalOp, RandomBernoulliOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() &&
         llvm::none_of(
             linalgOp.getDpsInputs(),
             [](Value input) { return isa<ShapedType>(input.getType()); }) &&
         llvm::none_of(
             linalgOp.getRegionOutputArgs(),
             [](BlockArgument output) { return !output.use_empty(); });
}

bool mlir::remat::isFree(Operation *op) {
  if (isEmptyTensor(op))
    return true;
  if (isa<NameOp, BarrierOp, TapeReadOp>(op) || !isMemoryEffectFree(op))
    return false;
  if (auto cost = dyn_cast<RecomputeCostOpInterface>(op))
    return cost.getRecomputeCost() == 0;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return isEmptyTensor(fill.getOutputs()[0]);
  if (isa<tensor::SplatOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto isNumber = [](Type type) { return !isa<ShapedType>(type); };
  return (isa<RngInitOp, RngFoldInOp, PhiloxOp>(op) ||
          isa_and_nonnull<arith::ArithDialect, affine::AffineDialect,
                          index::IndexDialect>(op->getDialect())) &&
         llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

//===----------------------------------------------------------------------===//
// In scalar operations
//===----------------------------------------------------------------------===//

static int64_t countScalars(Block &block);

/// The cost of an operation in the body of a kernel.
static int64_t getScalarCost(Operation *op) {
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
    scalars += getScalarCost(&op);
  return scalars;
}

int64_t mlir::remat::countScalars(linalg::LinalgOp op) {
  return ::countScalars(*op.getBlock());
}

std::optional<int64_t> mlir::remat::countCheapScalars(linalg::LinalgOp op) {
  int64_t scalars = 0;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    int64_t cost = getScalarCost(&inner);
    if (cost > 1 || (cost == 1 && !isa<arith::ArithDialect, math::MathDialect>(
                                      inner.getDialect())))
      return std::nullopt;
    scalars += cost;
  }
  return scalars;
}

bool mlir::remat::isCheap(linalg::LinalgOp op) {
  std::optional<int64_t> scalars = countCheapScalars(op);
  return scalars && *scalars <= kMaxCheapScalars;
}

static int64_t countElements(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? multiplySizes(shaped.getShape()) : 1;
}

int64_t mlir::remat::getRecomputeCost(Operation *op) {
  if (auto cost = dyn_cast<RecomputeCostOpInterface>(op))
    return cost.getRecomputeCost();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return multiplySizes(linalgOp.getStaticLoopRanges(),
                         std::max<int64_t>(countScalars(linalgOp), 1));
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements += countElements(type);
  return elements;
}

//===----------------------------------------------------------------------===//
// In bytes and in time
//===----------------------------------------------------------------------===//

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

int64_t mlir::remat::countSentBytes(Operation *op) {
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return multiplySizes({static_cast<int64_t>(gather.getSize()) - 1,
                          estimateBytes(gather.getInput().getType())});
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    // A piece of each part to its owner, and the piece's result from there.
    int64_t exchanges = reduce.getInputs().size() + 1, ranks = reduce.getSize();
    int64_t bytes =
        multiplySizes({estimateBytes(reduce.getInit().getType()), exchanges});
    return bytes / ranks * (ranks - 1);
  }
  return 0;
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
    return isProduct ? estimateProductTime(countBytes(op), getRecomputeCost(op))
                     : estimateKernelTime(countBytes(op), getRecomputeCost(op));
  }
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    auto updates = cast<ShapedType>(scatter.getUpdates().getType());
    int64_t scalars = ::countScalars(scatter.getBody().front());
    return estimateKernelTime(countBytes(op),
                              multiplySizes(updates.getShape(), scalars + 1));
  }
  if (isa<AllReduceOp, AllGatherOp>(op))
    return kStartTime + countBytes(op) +
           multiplySizes({countSentBytes(op), kTimePerByteSent});
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

//===----------------------------------------------------------------------===//
// External models
//===----------------------------------------------------------------------===//

namespace {
template <typename OpT>
struct Free : RecomputeCostOpInterface::ExternalModel<Free<OpT>, OpT> {
  int64_t getRecomputeCost(Operation *) const { return 0; }
};

/// Ten rounds of two products, whose halves are taken apart, and four exclusive
/// ors; two sums for the next round's key.
struct PhiloxCost
    : RecomputeCostOpInterface::ExternalModel<PhiloxCost, PhiloxOp> {
  int64_t getRecomputeCost(Operation *op) const {
    return multiplySizes(
        {countElements(op->getResult(0).getType()), 10 * (2 * 5 + 4) + 9 * 2});
  }
};
} // namespace

template <typename... OpT> static void attachFree(MLIRContext *context) {
  (OpT::template attachInterface<Free<OpT>>(*context), ...);
}

void mlir::remat::registerRecomputeCostExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    PhiloxOp::attachInterface<PhiloxCost>(*context);
    attachFree<RankOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachFree<tensor::CastOp, tensor::CollapseShapeOp, tensor::DimOp,
               tensor::ExpandShapeOp, tensor::ExtractOp,
               tensor::ExtractSliceOp>(context);
  });
  // A broadcast is fused into what reads it.
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachFree<linalg::BroadcastOp>(context);
  });
}
