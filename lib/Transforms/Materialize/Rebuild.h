//===- Rebuild.h - Make values again in a function's backward ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_MATERIALIZE_REBUILD_H
#define REMAT_LIB_TRANSFORMS_MATERIALIZE_REBUILD_H

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// Executes the plan of a function. Recomputed values are fused into the
/// kernels that read them where that is possible, else computed before the
/// first user, after a barrier. The plan keeps the saved values.
LogicalResult rebuildResiduals(PlanOp plan, const BackwardBorder &border);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_MATERIALIZE_REBUILD_H
