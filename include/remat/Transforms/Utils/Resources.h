//===- Resources.h - Weights that stand beside the IR -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_RESOURCES_H
#define REMAT_TRANSFORMS_UTILS_RESOURCES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"

namespace mlir::remat {

/// Fails, at `op`, unless the bytes of `value` are there and as many as its
/// type says.
LogicalResult checkResource(Operation *op, DenseResourceElementsAttr value);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_RESOURCES_H
