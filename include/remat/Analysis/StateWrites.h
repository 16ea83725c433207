//===- StateWrites.h - Where a step begins to change states -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that fails before it has written a parameter or state leaves
// everything as it was, and training goes on with the next batch.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_STATEWRITES_H
#define REMAT_ANALYSIS_STATEWRITES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Returns the first operation in the body of `step`, whose parameters and
/// states are marked, that may write memory of one of them, itself or in its
/// regions; null if none does. `step` is on buffers.
Operation *findFirstStateWrite(func::FuncOp step);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_STATEWRITES_H
