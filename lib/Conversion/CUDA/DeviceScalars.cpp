//===- DeviceScalars.cpp - Scalars that depend on tensors -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceScalars.h"

#include "remat/Analysis/Sources.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isScalarOp(Operation *op) {
  if (isa<tensor::ExtractOp>(op))
    return true;
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return op->getNumRegions() == 0 && op->getNumResults() > 0 && isPure(op) &&
         llvm::all_of(op->getResultTypes(), isScalar) &&
         llvm::all_of(op->getOperandTypes(), isScalar);
}

bool DeviceScalars::contains(Value value) {
  return evaluateOnce<bool>(
      value, known,
      [](Value value, SmallVectorImpl<Value> &sources) {
        Operation *op = value.getDefiningOp();
        if (op && isScalarOp(op) && !isa<tensor::ExtractOp>(op))
          llvm::append_range(sources, op->getOperands());
      },
      [&](Value value) {
        Operation *op = value.getDefiningOp();
        return op && isScalarOp(op) &&
               (isa<tensor::ExtractOp>(op) ||
                llvm::any_of(op->getOperands(),
                             [&](Value operand) { return known.at(operand); }));
      });
}
