//===- KeptOutputs.h - Outputs that others keep anyway ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PLAN_KEPTOUTPUTS_H
#define REMAT_LIB_TRANSFORMS_PLAN_KEPTOUTPUTS_H

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Transforms/Plan/BackwardInputs.h"

namespace mlir::remat {

/// Returns outputs of `region` that `backward` needs, that are kept anyway for
/// another use in the backward (they are operands of the next region), and
/// without which an expensive operation would be recomputed or more would be
/// saved. An output that gives a ReLU its sign is one.
SetVector<Value> findKeptOutputs(RegionOp region,
                                 const BackwardInputs &backward,
                                 const BackwardBorder &border);

/// Returns true if `op` is more than an elementwise kernel, which fusion makes
/// part of its reader.
bool isExpensive(Operation *op);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_KEPTOUTPUTS_H
