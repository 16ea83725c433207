//===- Elementwise.h - Operations that combine no elements ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_ELEMENTWISE_H
#define REMAT_DIALECT_REMAT_IR_ELEMENTWISE_H

#include "mlir/IR/Operation.h"

namespace mlir::remat {

/// Returns true if `op` is a structured operation without reductions. It may
/// read any element, and what it overwrites.
bool isParallel(Operation *op);

/// Returns true if `op` is parallel and on tensors, and computes all elements
/// of its results, each once and without those that it overwrites.
bool isElementwiseKernel(Operation *op);

/// Returns true if `op` is parallel and on tensors, and all of its loops index
/// each operand in their order, or none does.
bool isPointwise(Operation *op);

/// Returns true if `op` applies an operation on scalars, such as one of arith
/// or math, to tensors of one rank and perhaps scalars.
bool isElementwiseOnTensors(Operation *op);

/// Returns true if the body of `op`, a structured operation, extracts elements
/// of tensors.
bool extractsElements(Operation *op);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_ELEMENTWISE_H
