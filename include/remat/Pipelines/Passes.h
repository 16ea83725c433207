//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_PIPELINES_PASSES_H
#define REMAT_PIPELINES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::remat {
#define GEN_PASS_DECL
#include "remat/Pipelines/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "remat/Pipelines/Passes.h.inc"
} // namespace mlir::remat

#endif // REMAT_PIPELINES_PASSES_H
