//===- LowerSnapshots.h - The binomial schedule as arithmetic ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_MATERIALIZE_LOWERSNAPSHOTS_H
#define REMAT_LIB_TRANSFORMS_MATERIALIZE_LOWERSNAPSHOTS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// Creates arithmetic that computes what `op` returns.
Value lowerNextSnapshot(OpBuilder &builder, NextSnapshotOp op);

/// Creates a loop that computes what `op` returns.
SmallVector<Value> lowerLastSnapshot(OpBuilder &builder, LastSnapshotOp op);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_MATERIALIZE_LOWERSNAPSHOTS_H
