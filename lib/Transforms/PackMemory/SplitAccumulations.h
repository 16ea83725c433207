//===- SplitAccumulations.h - Long chains in pieces -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Cuts each long chain of operations that compute in one another's results
/// into pieces, each of which takes the buffer from the one before it, and
/// takes tensors out of what counted loops carry that carry many, or long
/// chains. Those in the arguments of a function that others call, in what a
/// branch or another loop got, and in parts of tensors stay whole.
void splitAccumulations(func::FuncOp function, bool isCalled);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H
