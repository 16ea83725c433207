//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PLAN_PASSES_H
#define REMAT_TRANSFORMS_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::remat {
#define GEN_PASS_DECL
#include "remat/Transforms/Plan/Passes.h.inc"

/// `remat-print-plan` to `os`, which outlives the pass.
std::unique_ptr<Pass> createPrintPlan(const PrintPlanOptions &options,
                                      raw_ostream &os);

#define GEN_PASS_REGISTRATION
#include "remat/Transforms/Plan/Passes.h.inc"
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_PASSES_H
