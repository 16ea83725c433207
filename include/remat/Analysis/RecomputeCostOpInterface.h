//===- RecomputeCostOpInterface.h - Cost of a recompute ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H
#define REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "remat/Analysis/RecomputeCostOpInterface.h.inc"

namespace mlir::remat {
/// Registers the costs of views of tensors.
void registerRecomputeCostExternalModels(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_H
