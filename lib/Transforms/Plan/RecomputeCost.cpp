//===- RecomputeCost.cpp - What recomputing an operation costs ------------===//
//
// Costs live here and in the operations' own dialects, not in the passes that
// weigh them.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Plan/RecomputeCostOpInterface.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Transforms/Plan/RecomputeCostOpInterface.cpp.inc"

int64_t mlir::remat::getRecomputeCost(Operation *op) {
  if (auto cost = dyn_cast<RecomputeCostOpInterface>(op))
    return cost.getRecomputeCost();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    int64_t scalars = llvm::count_if(
        linalgOp.getBlock()->without_terminator(), [](Operation &scalar) {
          return !scalar.hasTrait<OpTrait::ConstantLike>();
        });
    return multiplySizes(linalgOp.getStaticLoopRanges(),
                         std::max<int64_t>(scalars, 1));
  }
  int64_t elements = 0;
  for (Type type : op->getResultTypes()) {
    auto shaped = dyn_cast<ShapedType>(type);
    elements +=
        shaped && shaped.hasRank() ? multiplySizes(shaped.getShape()) : 1;
  }
  return elements;
}

namespace {
template <typename OpT>
struct Free : RecomputeCostOpInterface::ExternalModel<Free<OpT>, OpT> {
  int64_t getRecomputeCost(Operation *) const { return 0; }
};
} // namespace

template <typename... OpT> static void attachFree(MLIRContext *context) {
  (OpT::template attachInterface<Free<OpT>>(*context), ...);
}

void mlir::remat::registerRecomputeCostExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachFree<tensor::CastOp, tensor::CollapseShapeOp, tensor::DimOp,
               tensor::ExpandShapeOp, tensor::ExtractSliceOp>(context);
  });
  // A broadcast is fused into what reads it.
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachFree<linalg::BroadcastOp>(context);
  });
}
