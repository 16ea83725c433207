//===- SplitReads.h - Many readers of one tensor in groups ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITREADS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITREADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Gives readers of a tensor that has many of them, and is not written before
/// the last, names of its buffer to share among few.
void splitReads(func::FuncOp function);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITREADS_H
