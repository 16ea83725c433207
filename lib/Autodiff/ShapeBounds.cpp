//===- ShapeBounds.cpp - Shapes through the remat dialect's operations ----===//
//
// A tape for values of dynamic size is allocated before the loop; upstream's
// analysis finds that size if it can see through our operations.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
template <typename Model, typename Op>
using BoundsFor = ValueBoundsOpInterface::ExternalModel<Model, Op>;

/// Names and stopped gradients are identities.
template <typename Op> struct SameBounds : BoundsFor<SameBounds<Op>, Op> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value)[dim] == bounds.getExpr(op->getOperand(0), dim);
  }
};

struct BarrierBounds : BoundsFor<BarrierBounds, BarrierOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    unsigned index = cast<OpResult>(value).getResultNumber();
    bounds.bound(value)[dim] == bounds.getExpr(op->getOperand(index), dim);
  }
};

struct RegionBounds : BoundsFor<RegionBounds, RegionOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    auto argument = dyn_cast<BlockArgument>(value);
    Value same = argument ? op->getOperand(argument.getArgNumber())
                          : cast<RegionOp>(op).getYield()->getOperand(
                                cast<OpResult>(value).getResultNumber());
    bounds.bound(value)[dim] == bounds.getExpr(same, dim);
  }
};

struct TapeWriteBounds : BoundsFor<TapeWriteBounds, TapeWriteOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value)[dim] ==
        bounds.getExpr(cast<TapeWriteOp>(op).getTape(), dim);
  }
};

struct TapeReadBounds : BoundsFor<TapeReadBounds, TapeReadOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value)[dim] ==
        bounds.getExpr(cast<TapeReadOp>(op).getTape(), dim + 1);
  }
};
} // namespace

void mlir::remat::registerShapeBounds(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *dialect) {
    BarrierOp::attachInterface<BarrierBounds>(*context);
    NameOp::attachInterface<SameBounds<NameOp>>(*context);
    RegionOp::attachInterface<RegionBounds>(*context);
    StopGradientOp::attachInterface<SameBounds<StopGradientOp>>(*context);
    TapeReadOp::attachInterface<TapeReadBounds>(*context);
    TapeWriteOp::attachInterface<TapeWriteBounds>(*context);
  });
}
