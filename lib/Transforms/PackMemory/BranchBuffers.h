//===- BranchBuffers.h - One buffer for each result of a branch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_BRANCHBUFFERS_H
#define REMAT_TRANSFORMS_PACKMEMORY_BRANCHBUFFERS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {

/// Gives every tensor that an `scf.if` returns a buffer that is there before
/// it, which both branches fill. Results of which each branch defines another
/// become one.
void shareBranchBuffers(ModuleOp module);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_BRANCHBUFFERS_H
