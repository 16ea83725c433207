//===- SplitReads.h - Many reads of one tensor in groups --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITREADS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITREADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Splits the reads of a tensor that has many of them, and is not written
/// before the last, into groups, each with an alias of the buffer.
void splitReads(func::FuncOp function);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_SPLITREADS_H
