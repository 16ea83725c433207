//===- HoistReshapes.cpp - Reshapes before elementwise kernels ------------===//
//
// Exporters add the bias of a linear layer to a matrix of rows, split these
// into sequences and positions, and go on elementwise: two kernels, and two
// tensors for the backward to choose from, since fusion does not see through
// the reshape. Before the first kernel it is a view of the product.
//
// This is done after differentiation: how sums are added up follows from the
// loops of the model's own operations.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Fuse/ElementwiseFusion.h"
#include "remat/Transforms/Fuse/Passes.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_HOISTRESHAPES
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The type in which all that reads the result of `op` reads it, and one of the
/// reshapes to it; null if something reads it as it is, or in another type.
static tensor::ExpandShapeOp getOnlyReshape(linalg::GenericOp op) {
  tensor::ExpandShapeOp only;
  for (Operation *user : op->getUsers()) {
    auto expand = dyn_cast<tensor::ExpandShapeOp>(user);
    if (!expand || (only && expand.getType() != only.getType()))
      return nullptr;
    only = expand;
  }
  return only;
}

/// Whether the loops of `op` are the dimensions of its only result, element by
/// element, and it may have others.
static bool hasDimensionsForLoops(linalg::GenericOp op) {
  return op->getNumResults() == 1 && isFusableProducer(op) &&
         !op.hasIndexSemantics() &&
         op.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() &&
         llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           return op.getMatchingIndexingMap(input).isProjectedPermutation() &&
                  (!isa<ShapedType>(input->get().getType()) ||
                   cast<ShapedType>(input->get().getType()).hasStaticShape());
         });
}

/// `value` with the given dimensions.
static Value expand(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> shape,
                    ArrayRef<ReassociationIndices> groups) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || shape.size() == groups.size())
    return value;
  auto expanded = RankedTensorType::get(shape, type.getElementType());
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (collapse && collapse.getSrcType() == expanded)
    return collapse.getSrc();
  return tensor::ExpandShapeOp::create(builder, loc, expanded, value, groups);
}

/// Computes the result of `op` in the shape of `reshape`.
static void hoist(OpBuilder &builder, linalg::GenericOp op,
                  tensor::ExpandShapeOp reshape) {
  RankedTensorType type = reshape.getResultType();
  SmallVector<ReassociationIndices> loops = reshape.getReassociationIndices();
  builder.setInsertionPoint(op);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> groups;
    SmallVector<AffineExpr> dims;
    for (AffineExpr result : op.getMatchingIndexingMap(input).getResults()) {
      groups.emplace_back();
      for (int64_t loop : loops[cast<AffineDimExpr>(result).getPosition()]) {
        groups.back().push_back(shape.size());
        shape.push_back(type.getDimSize(loop));
        dims.push_back(builder.getAffineDimExpr(loop));
      }
    }
    inputs.push_back(
        expand(builder, reshape.getLoc(), input->get(), shape, groups));
    maps.push_back(
        AffineMap::get(type.getRank(), 0, dims, builder.getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  auto hoisted = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(type), inputs, empty, maps,
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel));
  IRMapping mapping;
  op.getRegion().cloneInto(&hoisted.getRegion(), mapping);
  copyAttributes(op, hoisted);
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    user->replaceAllUsesWith(hoisted);
    user->erase();
  }
  op.erase();
}

namespace {
struct HoistReshapes : remat::impl::HoistReshapesBase<HoistReshapes> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> kernels;
    getOperation()->walk([&](linalg::GenericOp op) { kernels.push_back(op); });
    OpBuilder builder(&getContext());
    bool changed = false;
    // From the last: what one reads in another shape is made in that.
    for (linalg::GenericOp op : llvm::reverse(kernels)) {
      tensor::ExpandShapeOp reshape = getOnlyReshape(op);
      if (!reshape || !reshape.getResultType().hasStaticShape() ||
          !hasDimensionsForLoops(op))
        continue;
      hoist(builder, op, reshape);
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
