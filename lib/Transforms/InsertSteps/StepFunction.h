//===- StepFunction.h - A joint function on its way to @step ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What insertion of steps knows of the function that it builds: which argument
// is what, and where its next value comes from.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_STEPFUNCTION_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_STEPFUNCTION_H

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// A parameter that is trained. Numbers are positions among the arguments.
struct TrainedParameter {
  std::string name;
  unsigned argument;
  SmallVector<unsigned> states;
  Value gradient;
  /// Of the random bits of its updates, if they need some.
  std::optional<int64_t> key;
};

/// The function: arguments and results of the loss, then optimizer states, then
/// the step. The gradients are no results any more; they are in `trained`.
struct StepFunction {
  func::FuncOp function;
  SmallVector<TrainedParameter> trained;
  /// Result and argument of model and random states.
  SmallVector<std::pair<unsigned, unsigned>> states;
  /// Arguments that hold examples.
  SmallVector<unsigned> data;
};

/// Makes the function out of the joint function of `train`, which is consumed
/// unless it is shared. Reports parameters that are left alone.
FailureOr<StepFunction> createStepFunction(TrainStepOp train,
                                           bool isJointShared);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_STEPFUNCTION_H
