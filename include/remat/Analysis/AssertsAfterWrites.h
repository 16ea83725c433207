//===- AssertsAfterWrites.h - Steps that fail between updates ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An assertion of the model ends a step. Before the first parameter is updated
// it leaves everything as it was; after that the step has to say so.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_ASSERTSAFTERWRITES_H
#define REMAT_ANALYSIS_ASSERTSAFTERWRITES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Returns true if an assertion may follow a write of a parameter or state.
/// `step` is on buffers, and its parameters and states are marked.
bool hasAssertAfterWrite(func::FuncOp step);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_ASSERTSAFTERWRITES_H
