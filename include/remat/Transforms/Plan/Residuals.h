//===- Residuals.h - What a function's backward may keep --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that make, execute and print plans share the definition of a residual.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLAN_RESIDUALS_H
#define REMAT_TRANSFORMS_PLAN_RESIDUALS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// Returns true if results of `op` are never kept: constants, and tensors that
/// are empty or filled with one number.
bool isWithoutContents(Operation *op);

/// Returns true if `op` shows its operand in another shape: the operand is kept
/// in place of the result.
bool isReshape(Operation *op);

/// Returns the name by which policies know `value`, if it has one.
std::optional<StringRef> getPolicyName(Value value);

/// Returns the value in a loop's body that `value` records, if it is a tape;
/// else `value`.
Value lookThroughTapes(Value value);

/// Records a region's decision about `value` in a `remat.saved`, where the plan
/// of the function finds it.
void recordDecision(Value value, DecisionAttr decision);

/// Erases the `remat.saved`s in `root`, and returns the decisions of regions
/// that they record, by value.
DenseMap<Value, DecisionAttr> takeRecordedDecisions(Operation *root);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_RESIDUALS_H
