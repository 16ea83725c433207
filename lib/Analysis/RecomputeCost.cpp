//===- RecomputeCost.cpp - What recomputing an operation costs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs live here and in the operations' own dialects, not in the passes that
// weigh them.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/RecomputeCostOpInterface.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Analysis/RecomputeCostOpInterface.cpp.inc"

/// Operations on scalars that an operation in the body of a kernel stands for.
static int64_t getScalarCost(Operation &scalar) {
  if (scalar.hasTrait<OpTrait::ConstantLike>())
    return 0;
  return isa<PhiloxOp>(scalar) ? getRecomputeCost(&scalar) : 1;
}

static int64_t countElements(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? multiplySizes(shaped.getShape()) : 1;
}

int64_t mlir::remat::getRecomputeCost(Operation *op) {
  if (auto cost = dyn_cast<RecomputeCostOpInterface>(op))
    return cost.getRecomputeCost();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    int64_t scalars = 0;
    for (Operation &scalar : linalgOp.getBlock()->without_terminator())
      scalars += getScalarCost(scalar);
    return multiplySizes(linalgOp.getStaticLoopRanges(),
                         std::max<int64_t>(scalars, 1));
  }
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements += countElements(type);
  return elements;
}

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
