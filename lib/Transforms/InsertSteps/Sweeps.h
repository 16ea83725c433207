//===- Sweeps.h - A backward that runs twice --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_SWEEPS_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_SWEEPS_H

#include "StepFunction.h"

namespace mlir::remat {

/// Recomputes the gradients before the terminator and once `after`
/// is known, from what the forward has saved; `step.trained` refers to these
/// from then on. What has an effect runs once, and its results are kept.
void recomputeGradients(StepFunction &step, Value after);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_SWEEPS_H
