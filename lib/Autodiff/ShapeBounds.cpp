//===- ShapeBounds.cpp - Shapes through operations ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tape for values of dynamic size is allocated before the loop; upstream's
// analysis finds that size if it can see through our operations, and through
// concatenations.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
template <typename Model, typename Op>
using BoundsFor = ValueBoundsOpInterface::ExternalModel<Model, Op>;

/// An operation whose values are what others are: `getSame` says which ones.
template <typename Model, typename Op>
struct SameBounds : BoundsFor<SameBounds<Model, Op>, Op> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value)[dim] ==
        bounds.getExpr(Model::getSame(cast<Op>(op), value), dim);
  }
  void populateBoundsForIndexValue(Operation *op, Value value,
                                   ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value) == bounds.getExpr(Model::getSame(cast<Op>(op), value));
  }
};

/// Names and stopped gradients are identities.
template <typename Op>
struct IdentityBounds : SameBounds<IdentityBounds<Op>, Op> {
  static Value getSame(Op op, Value value) { return op->getOperand(0); }
};

struct BarrierBounds : SameBounds<BarrierBounds, BarrierOp> {
  static Value getSame(BarrierOp op, Value value) {
    return op->getOperand(cast<OpResult>(value).getResultNumber());
  }
};

struct RegionBounds : SameBounds<RegionBounds, RegionOp> {
  static Value getSame(RegionOp op, Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return op->getOperand(argument.getArgNumber());
    return op.getYield()->getOperand(cast<OpResult>(value).getResultNumber());
  }
};

struct TapeWriteBounds : SameBounds<TapeWriteBounds, TapeWriteOp> {
  static Value getSame(TapeWriteOp op, Value value) { return op.getTape(); }
};

struct TapeReadBounds : BoundsFor<TapeReadBounds, TapeReadOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value)[dim] ==
        bounds.getExpr(cast<TapeReadOp>(op).getTape(), dim + 1);
  }
  /// Nothing is known of an element.
  void populateBoundsForIndexValue(Operation *op, Value value,
                                   ValueBoundsConstraintSet &bounds) const {}
};

struct DestinationBounds : BoundsFor<DestinationBounds, DestinationOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    auto destination = cast<DestinationOp>(op);
    auto type = cast<RankedTensorType>(destination.getType());
    if (type.isDynamicDim(dim))
      bounds.bound(value)[dim] ==
          bounds.getExpr(
              destination.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
  }
};

/// The sum of the parts' sizes, in the dimension in which they stand in a row.
struct ConcatBounds : BoundsFor<ConcatBounds, tensor::ConcatOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    auto concat = cast<tensor::ConcatOp>(op);
    ValueRange parts = concat.getInputs();
    AffineExpr size = bounds.getExpr(getSameSizes(parts.front()), dim);
    if (dim == static_cast<int64_t>(concat.getDim()))
      for (Value part : parts.drop_front())
        size = size + bounds.getExpr(getSameSizes(part), dim);
    bounds.bound(value)[dim] == size;
  }
  void populateBoundsForIndexValue(Operation *op, Value value,
                                   ValueBoundsConstraintSet &bounds) const {}
};
} // namespace

void mlir::remat::registerShapeBounds(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *dialect) {
    BarrierOp::attachInterface<BarrierBounds>(*context);
    DestinationOp::attachInterface<DestinationBounds>(*context);
    NameOp::attachInterface<IdentityBounds<NameOp>>(*context);
    RegionOp::attachInterface<RegionBounds>(*context);
    StopGradientOp::attachInterface<IdentityBounds<StopGradientOp>>(*context);
    TapeReadOp::attachInterface<TapeReadBounds>(*context);
    TapeWriteOp::attachInterface<TapeWriteBounds>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<ConcatBounds>(*context);
  });
}
