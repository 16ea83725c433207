//===- Rebuild.h - Make values again in a function's backward ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_MATERIALIZE_REBUILD_H
#define REMAT_LIB_TRANSFORMS_MATERIALIZE_REBUILD_H

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// Executes the plan of a function: what it says runs again is made in front of
/// the first operation that reads it, in kernels that read it where that is
/// possible, else behind a barrier. The plan keeps what is saved.
LogicalResult rebuildResiduals(PlanOp plan, const BackwardBorder &border);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_MATERIALIZE_REBUILD_H
