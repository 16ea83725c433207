//===- CutRows.h - Fewer rows instead of a slice of them --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_CUTROWS_H
#define REMAT_LIB_TRANSFORMS_RAISE_CUTROWS_H

#include "RowShapes.h"

namespace mlir::remat {

/// Where all that is read of `product`, whose result has this shape, is some of
/// its rows: cuts the others off its operands. Returns the smaller product;
/// null if all rows are read.
linalg::LinalgOp cutUnreadRows(RewriterBase &rewriter, linalg::LinalgOp product,
                               RowShape shape);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_CUTROWS_H
