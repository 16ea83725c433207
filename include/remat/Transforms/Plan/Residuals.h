//===- Residuals.h - What a function's backward may keep --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who plans, who executes and who prints a plan mean the same by a residual.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLAN_RESIDUALS_H
#define REMAT_TRANSFORMS_PLAN_RESIDUALS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// Whether nobody keeps the results: constants, and buffers without contents.
bool isWithoutContents(Operation *op);

/// Whether `op` shows its operand in another shape: what is kept is the
/// operand.
bool isReshape(Operation *op);

/// The name that policies know `value` by; none if it has none.
std::optional<StringRef> getPolicyName(Value value);

/// What `value` records of a loop's iterations, if it is a tape; else itself.
Value lookThroughTapes(Value value);

/// Leaves a `remat.saved` with what a region decided about `value`, where the
/// plan of the function finds it.
void recordDecision(Value value, DecisionAttr decision);

/// Takes the `remat.saved`s out of `root`: returns what regions have decided to
/// save.
DenseMap<Value, DecisionAttr> takeRecordedDecisions(Operation *root);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_RESIDUALS_H
