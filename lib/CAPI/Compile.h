//===- Compile.h - The halves of the pipeline ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of this process and those that are exported have them in common.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_COMPILE_H
#define REMAT_LIB_CAPI_COMPILE_H

#include "Model.h"

#include "remat/Pipelines/Train.h"
#include "remat/Transforms/TrainProgram/TrainDescription.h"

namespace mlir::remat {

/// Runs the first half of the pipeline, after which all memory is known, and
/// prints the report of it.
LogicalResult pack(Model &model, TrainOptions &options, raw_ostream &report);

/// Collects what the step of the module and its evaluation take and return. It
/// has to be between the halves: the second one takes attributes of arguments
/// away.
LogicalResult describe(Model &model, TrainStepOp train,
                       TrainDescription &description);

/// Runs the second half, to functions in the LLVM dialect.
LogicalResult lower(Model &model, TrainOptions &options);

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_COMPILE_H
