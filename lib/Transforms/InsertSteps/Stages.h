//===- Stages.h - Parts of a backward with a loop each ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eager accumulation runs all micro-batches through one part of the backward
// before the next part begins. Few parts keep the sums of many gradients at
// once; many parts store what each passes on, for every micro-batch.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_STAGES_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_STAGES_H

#include "StepFunction.h"

namespace mlir::remat {

/// Returns true if `op` is recomputed in each stage that reads it, since that
/// costs nothing: constants, destinations, fills, numbers made of numbers,
/// reshapes, slices of arguments.
bool isReplicated(Operation *op);

/// Returns what has to be there in a stage other than `value`'s own, so that
/// `value` is: itself, or what the replicated operations that make it read.
void collectRoots(Value value, llvm::SetVector<Value> &roots);

/// Assigns a stage to each operation of the body but its terminator. Stage 0 is
/// the forward: whatever stands in front of the border, and what the results
/// depend on. The others are parts of the backward, in the order of the block,
/// so many that the estimated peak of `count` micro-batches is the lowest, and
/// no more.
DenseMap<Operation *, unsigned> assignStages(const StepFunction &step,
                                             int64_t count);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_STAGES_H
