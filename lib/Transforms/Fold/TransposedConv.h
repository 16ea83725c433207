//===- TransposedConv.h - Convolutions of stuffed images --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_FOLD_TRANSPOSEDCONV_H
#define REMAT_LIB_TRANSFORMS_FOLD_TRANSPOSEDCONV_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// If `op` is a convolution of images between whose elements there are zeros,
/// as front ends write transposed convolutions, returns its result by the
/// operation that reads the elements alone. Returns null for any other
/// operation.
Value raiseTransposedConv(OpBuilder &builder, linalg::LinalgOp op);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_FOLD_TRANSPOSEDCONV_H
