//===- Views.cpp - The same elements in another order or shape ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers of a view are readers of what it shows: products and kernels take the
// view along, and what remains of it moves to them.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Views.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

OpOperand *mlir::remat::getViewedOperand(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ReshapeOp,
          tensor::CastOp>(op))
    return &op->getOpOperand(0);
  auto copy = dyn_cast<linalg::LinalgOp>(op);
  if (!copy || !copy.hasPureTensorSemantics() || copy.getNumDpsInputs() != 1 ||
      copy.getNumDpsInits() != 1 || !isParallel(op) ||
      !copy.getMatchingIndexingMap(copy.getDpsInitOperand(0)).isPermutation())
    return nullptr;
  Block *body = copy.getBlock();
  OpOperand *input = copy.getDpsInputOperand(0);
  return llvm::hasSingleElement(*body) &&
                 isa<RankedTensorType>(input->get().getType()) &&
                 body->getTerminator()->getOperand(0) == body->getArgument(0)
             ? input
             : nullptr;
}

std::optional<SmallVector<Value>> mlir::remat::getViewSizes(Operation *op) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return SmallVector<Value>(expand.getOutputShape());
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op))
    return SmallVector<Value>{reshape.getShape()};
  auto copy = dyn_cast<linalg::LinalgOp>(op);
  if (!copy ||
      cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return SmallVector<Value>();
  auto empty = copy.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  if (!empty || empty.getType() != op->getResult(0).getType())
    return std::nullopt;
  return SmallVector<Value>(empty.getDynamicSizes());
}

bool mlir::remat::areSameViews(Value a, Value b) {
  a = lookThroughBorders(a);
  b = lookThroughBorders(b);
  if (a == b)
    return true;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (!first || !second)
    return false;
  OpOperand *firstViewed = getViewedOperand(first);
  OpOperand *secondViewed = getViewedOperand(second);
  if (!firstViewed || !secondViewed ||
      !areSameViews(firstViewed->get(), secondViewed->get()))
    return false;
  auto firstSizes = getViewSizes(first), secondSizes = getViewSizes(second);
  if (!firstSizes || !secondSizes ||
      !llvm::equal(*firstSizes, *secondSizes, [](Value x, Value y) {
        return lookThroughBorders(x) == lookThroughBorders(y);
      }))
    return false;
  // The destination of a view does not matter.
  return OperationEquivalence::isEquivalentTo(
      first, second, OperationEquivalence::ignoreValueEquivalence, nullptr,
      OperationEquivalence::IgnoreLocations);
}
