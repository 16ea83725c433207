//===- ForwardResults.h - Results that are arguments ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_FORWARDRESULTS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_FORWARDRESULTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {

/// Replaces results of calls by the operand, or a view of it, where a function
/// returns the argument; private functions no longer return it. One-shot
/// bufferization does not know that two such results are one buffer, and lets a
/// caller write into one before it has read the other.
void forwardResults(ModuleOp module);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_FORWARDRESULTS_H
