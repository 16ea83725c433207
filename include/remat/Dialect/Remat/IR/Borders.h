//===- Borders.h - What regions take and yield ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_BORDERS_H
#define REMAT_DIALECT_REMAT_IR_BORDERS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// Passes `value` into `region`; returns its argument, of which there is one
/// for each value.
BlockArgument addInput(RegionOp region, Value value);

/// Makes `value`, which is computed in `region`, one of its outputs, or of its
/// residuals; returns that result. The region is replaced by one with the same
/// body if it has no such result yet.
Value addOutput(RegionOp region, Value value);
Value addResidual(RegionOp region, Value value);

/// The same value on the other side of the name or border of a region that
/// `use` is; null if it is neither.
Value getPassedOn(OpOperand &use);

/// Puts the body of a region or backward in its place.
void inlineBody(Operation *op);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_BORDERS_H
