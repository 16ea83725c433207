//===- StepPoint.h - Where an update may stand ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_STEPPOINT_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_STEPPOINT_H

#include "mlir/IR/Builders.h"

namespace mlir::remat {

/// Lets `builder` stand where `gradient` is final and `param` is read no more
/// in `body`: as early as possible. A terminator that returns the old value
/// does not count, but everything before it does.
void setInsertionPointToStep(OpBuilder &builder, Block &body, Value param,
                             Value gradient);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_STEPPOINT_H
