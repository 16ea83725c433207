//===- Concatenation.h - Concatenations out of branches --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_DECOMPOSE_CONCATENATION_H
#define REMAT_LIB_TRANSFORMS_DECOMPOSE_CONCATENATION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Replaces a kernel whose elements come from one tensor or the next, depending
/// on where they lie along a dimension, by a tensor.concat. Returns false and
/// does nothing if `op` is none.
bool raiseConcatenation(RewriterBase &rewriter, linalg::GenericOp op);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_DECOMPOSE_CONCATENATION_H
