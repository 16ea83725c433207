//===- SplitAccumulations.h - Long sums in a buffer of their own *- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Gives each long chain of operations that compute in one another's results a
/// buffer now, and cuts the chain into pieces that read and write it.
void splitAccumulations(func::FuncOp function);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITACCUMULATIONS_H
