//===- Concatenation.h - Concatenations written as branches -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_DECOMPOSE_CONCATENATION_H
#define REMAT_LIB_TRANSFORMS_DECOMPOSE_CONCATENATION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Replaces a kernel whose elements come from one of several tensors, depending
/// on their position along a dimension, by a tensor.concat. Returns false and
/// changes nothing for any other kernel.
bool raiseConcatenation(RewriterBase &rewriter, linalg::GenericOp op);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_DECOMPOSE_CONCATENATION_H
