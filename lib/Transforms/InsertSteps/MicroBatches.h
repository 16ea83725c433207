//===- MicroBatches.h - Gradient accumulation -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_MICROBATCHES_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_MICROBATCHES_H

#include "StepFunction.h"

namespace mlir::remat {

/// Wraps the body of `step` in a loop over `count` micro-batches. Data
/// arguments grow by that factor; model and random states are carried from one
/// to the next; scalar results are averaged. The gradients in `step.trained`
/// become *sums* over the micro-batches, in the type that the rule computes in.
LogicalResult accumulateOverMicroBatches(StepFunction &step, int64_t count);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_MICROBATCHES_H
