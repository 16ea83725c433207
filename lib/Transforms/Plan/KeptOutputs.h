//===- KeptOutputs.h - Outputs that others keep anyway ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PLAN_KEPTOUTPUTS_H
#define REMAT_LIB_TRANSFORMS_PLAN_KEPTOUTPUTS_H

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Transforms/Plan/BackwardInputs.h"

namespace mlir::remat {

/// Outputs of `region` among what `backward` needs that something else in the
/// backward reads anyway (the next region, of which they are operands), and
/// without which a product, a sum or a call would run again or more would be
/// saved. An output that gives a ReLU its sign is one.
SetVector<Value> findKeptOutputs(RegionOp region,
                                 const BackwardInputs &backward,
                                 const BackwardBorder &border);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_KEPTOUTPUTS_H
