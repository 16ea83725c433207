//===- RecomputeCostOpInterface.h - Cost of a recompute ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H
#define REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "remat/Analysis/RecomputeCostOpInterface.h.inc"

namespace mlir::remat {
/// What computing the results of `op` once more costs, by its interface or by
/// default.
int64_t getRecomputeCost(Operation *op);

/// Whether `op` makes its results out of nothing: no tensor enters it.
/// Constants, fills, random draws.
bool isGenerator(Operation *op);

/// Whether running `op` once more, where its operands are at hand, costs
/// nothing that matters, so that its results are not worth a byte: views,
/// shapes, constants, arithmetic on a few numbers, and what says so by its
/// interface. The one notion of it: differentiation, plans and the ways of
/// residuals ask here. What it takes to have the operands at hand is theirs to
/// judge.
bool isFree(Operation *op);

/// Registers the costs of views of tensors.
void registerRecomputeCostExternalModels(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H
