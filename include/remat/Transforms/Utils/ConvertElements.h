//===- ConvertElements.h - Elements in another type -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_CONVERTELEMENTS_H
#define REMAT_TRANSFORMS_UTILS_CONVERTELEMENTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// A kernel that converts each element of `from` to the floating-point type of
/// those of `to`, and writes it there. Both are tensors or both memrefs, of the
/// same shape.
linalg::GenericOp convertElementsInto(OpBuilder &builder, Location loc,
                                      Value from, Value to);

/// `tensor` with elements of the floating-point type `type`; itself if it has.
Value convertElements(OpBuilder &builder, Location loc, Value tensor,
                      Type type);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_CONVERTELEMENTS_H
