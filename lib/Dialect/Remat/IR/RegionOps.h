//===- RegionOps.h - What verifier and patterns share -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_DIALECT_REMAT_IR_REGIONOPS_H
#define REMAT_LIB_DIALECT_REMAT_IR_REGIONOPS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// A sum for which `op` has no result of its type, apart from the results that
/// are `dropped`; null if there is none.
BlockArgument findSumWithoutResult(BackwardOp op,
                                   const llvm::BitVector &dropped = {});

} // namespace mlir::remat

#endif // REMAT_LIB_DIALECT_REMAT_IR_REGIONOPS_H
