//===- CheckContents.cpp - Reads of what nothing was written to -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product into a `tensor.empty` adds to whatever the memory holds. Upstream
// allows it, models do it by mistake, and the numbers look like a bad
// optimizer.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

/// Returns true if the owner of `use` computes with its elements.
static bool readsElements(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (auto structured = dyn_cast<linalg::LinalgOp>(owner))
    return structured.payloadUsesValueFromOperand(&use);
  return isa<tensor::ExtractOp>(owner) ||
         owner->hasTrait<OpTrait::Elementwise>();
}

/// Returns the value with the same elements as the operand `use`, or some of
/// them; null if there is none.
static Value getView(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (auto region = dyn_cast<remat::RegionOp>(owner))
    return region.getBodyBlock()->getArgument(use.getOperandNumber());
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::ExtractSliceOp>(owner) &&
      use.getOperandNumber() == 0)
    return owner->getResult(0);
  return {};
}

void mlir::remat::warnOfContents(Operation *root) {
  root->walk([](tensor::EmptyOp empty) {
    SmallVector<Value> values = {empty};
    while (!values.empty())
      for (OpOperand &use : values.pop_back_val().getUses()) {
        if (Value view = getView(use)) {
          values.push_back(view);
        } else if (readsElements(use)) {
          InFlightDiagnostic warning =
              emitWarning(use.getOwner()->getLoc(), "operand #")
              << use.getOperandNumber() << " of '" << use.getOwner()->getName()
              << "' is read, but its contents are undefined; fill it first "
                 "(linalg.fill)";
          warning.attachNote(empty.getLoc())
              << "a 'tensor.empty' has a shape only";
        }
      }
  });
}
