//===- HoistReshapes.cpp - Reshapes before elementwise kernels ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters add the bias of a linear layer to a matrix of rows, split these
// into sequences and positions, and go on elementwise: two kernels, and two
// tensors for the backward to choose from, since fusion does not see through
// the reshape. Before the first kernel it is a view of the product.
//
// This is done after differentiation: how sums are added up follows from the
// loops of the model's own operations.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"
#include "remat/Transforms/Fuse/Passes.h"
#include "remat/Transforms/Utils/Attributes.h"
#include "remat/Transforms/Utils/CutLoops.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
    if (isa<SavedOp>(user))
      continue;
    auto expand = dyn_cast<tensor::ExpandShapeOp>(user);
    if (!expand || (only && expand.getType() != only.getType()))
      return nullptr;
    only = expand;
  }
  return only;
}

/// Returns true if the loops of `op` are the dimensions of its only result,
/// element by element, and it may have others.
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
  auto type = cast<RankedTensorType>(value.getType());
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
  builder.setInsertionPoint(op);
  linalg::GenericOp hoisted = cutLoops(
      builder, op, reshape.getReassociationIndices(), type.getShape(),
      [&](OpOperand &operand, ArrayRef<int64_t> shape,
          ArrayRef<ReassociationIndices> dims) -> Value {
        if (op.isDpsInit(&operand))
          return tensor::EmptyOp::create(builder, op.getLoc(), shape,
                                         type.getElementType());
        return expand(builder, reshape.getLoc(), operand.get(), shape, dims);
      });
  copyAttributes(op, hoisted);
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    if (isa<SavedOp>(user)) {
      user->setOperand(0, hoisted->getResult(0));
      continue;
    }
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
