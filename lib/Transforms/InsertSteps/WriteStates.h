//===- WriteStates.h - Model states in place -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_WRITESTATES_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_WRITESTATES_H

#include "StepFunction.h"

#include "mlir/IR/Builders.h"

namespace mlir::remat {

/// Writes the next value of each model state that is a tensor into its
/// argument, at the end of the step.
void writeStatesInPlace(StepFunction &step, OpBuilder &builder);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_WRITESTATES_H
