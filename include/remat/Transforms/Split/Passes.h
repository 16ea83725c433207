//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_SPLIT_PASSES_H
#define REMAT_TRANSFORMS_SPLIT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::remat {
#define GEN_PASS_DECL
#include "remat/Transforms/Split/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "remat/Transforms/Split/Passes.h.inc"
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_SPLIT_PASSES_H
