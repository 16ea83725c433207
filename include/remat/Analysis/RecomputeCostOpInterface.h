//===- RecomputeCostOpInterface.h - Cost of a recompute ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H
#define REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "remat/Analysis/RecomputeCostOpInterface.h.inc"

namespace mlir::remat {
/// Returns the cost of recomputing the results of `op`, by its interface or by
/// default.
int64_t getRecomputeCost(Operation *op);

/// Returns true if `op` makes its results out of nothing: no tensor enters it.
/// Constants, fills, random draws.
bool isGenerator(Operation *op);

/// Returns true if recomputing `op`, with its operands available, costs nothing
/// that matters, so that its results are not worth a byte: views, shapes,
/// constants, arithmetic on a few numbers, and operations whose interface says
/// so. Differentiation, planning and the routing of residuals all ask this
/// function; what it takes to have the operands available is for each of them
/// to judge.
bool isFree(Operation *op);

/// Registers the costs of views of tensors.
void registerRecomputeCostExternalModels(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H
