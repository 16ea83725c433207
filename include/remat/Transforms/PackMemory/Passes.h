//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_PASSES_H
#define REMAT_TRANSFORMS_PACKMEMORY_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::remat {
#define GEN_PASS_DECL
#include "remat/Transforms/PackMemory/Passes.h.inc"

/// `remat-pack-memory` with its report, as JSON, to `json`, which outlives the
/// pass.
std::unique_ptr<Pass> createPackMemoryPass(const PackMemoryPassOptions &options,
                                           raw_ostream &json);

#define GEN_PASS_REGISTRATION
#include "remat/Transforms/PackMemory/Passes.h.inc"
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_PASSES_H
