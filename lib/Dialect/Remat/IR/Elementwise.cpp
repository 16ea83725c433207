//===- Elementwise.cpp - Operations that combine no elements --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/Elementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using linalg::LinalgOp;

bool mlir::remat::isParallel(Operation *op) {
  auto kernel = dyn_cast_or_null<LinalgOp>(op);
  return kernel && kernel.getNumParallelLoops() == kernel.getNumLoops();
}

bool mlir::remat::isElementwiseKernel(Operation *op) {
  if (!isParallel(op))
    return false;
  auto kernel = cast<LinalgOp>(op);
  return kernel.hasPureTensorSemantics() &&
         llvm::all_of(kernel.getDpsInitsMutable(), [&](OpOperand &init) {
           return kernel.getMatchingIndexingMap(&init).isPermutation() &&
                  !kernel.payloadUsesValueFromOperand(&init);
         });
}

bool mlir::remat::isPointwise(Operation *op) {
  if (!isParallel(op))
    return false;
  auto kernel = cast<LinalgOp>(op);
  return kernel.hasPureTensorSemantics() &&
         llvm::all_of(kernel.getIndexingMapsArray(), [](AffineMap map) {
           return map.isIdentity() || map.getNumResults() == 0;
         });
}

bool mlir::remat::isElementwiseOnTensors(Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && llvm::all_of(op->getOperandTypes(), [&](Type operand) {
           auto tensor = dyn_cast<RankedTensorType>(operand);
           return tensor ? tensor.getRank() == type.getRank()
                         : !isa<ShapedType>(operand);
         });
}

bool mlir::remat::extractsElements(Operation *op) {
  return isa<LinalgOp>(op) && op->walk([](tensor::ExtractOp) {
                                  return WalkResult::interrupt();
                                }).wasInterrupted();
}
