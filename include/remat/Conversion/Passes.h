//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_CONVERSION_PASSES_H
#define REMAT_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::remat {
/// Registers what `remat.attention` and its backward consist of, for
/// `convert-linalg-aggregates-to-structured`.
void registerAttentionDecomposition(DialectRegistry &registry);

#define GEN_PASS_DECL
#include "remat/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

#endif // REMAT_CONVERSION_PASSES_H
