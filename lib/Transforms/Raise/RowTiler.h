//===- RowTiler.h - Some rows at a time -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_ROWTILER_H
#define REMAT_LIB_TRANSFORMS_RAISE_ROWTILER_H

#include "LossHead.h"

namespace mlir::remat {

/// Computes `head`, whose rows have dimensions of these sizes, in loops over
/// tiles of at most `maxRows` rows. Returns what computes its results now: the
/// last loop, and what comes after that now because it reads them.
SmallVector<Operation *> tileRows(RewriterBase &rewriter, const LossHead &head,
                                  ArrayRef<int64_t> sizes, int64_t maxRows);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_ROWTILER_H
