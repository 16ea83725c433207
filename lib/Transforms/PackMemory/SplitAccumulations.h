//===- SplitAccumulations.h - Long chains in pieces -------------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Cuts each long chain of operations that compute in one another's results
/// into pieces, each of which takes the buffer from the one before it. Those in
/// the arguments of a function that others call stay whole.
void splitAccumulations(func::FuncOp function, bool isCalled);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H
