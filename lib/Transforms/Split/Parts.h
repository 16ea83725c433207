//===- Parts.h - One sum for each part of a dimension -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_SPLIT_PARTS_H
#define REMAT_LIB_TRANSFORMS_SPLIT_PARTS_H

#include "Shardings.h"

namespace mlir::remat {

/// Returns true if a loop that `split` splits combines iterations.
bool combinesParts(const Shardings::Split &split);

/// Computes `op`, whose operands and results are already those of one rank,
/// for each part of the loops that combine iterations, and combines the parts
/// of all ranks in their order. Returns the results; `op` has no part in that.
SmallVector<Value> splitIntoParts(Operation *op, const Shardings::Split &split,
                                  const Mesh &mesh);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_SPLIT_PARTS_H
