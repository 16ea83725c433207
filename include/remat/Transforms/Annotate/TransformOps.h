//===- TransformOps.h - Annotate by a script --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_ANNOTATE_TRANSFORMOPS_H
#define REMAT_TRANSFORMS_ANNOTATE_TRANSFORMOPS_H

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformTypes.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "remat/Transforms/Annotate/TransformOps.h.inc"

namespace mlir::remat {
/// Adds the `transform.remat.*` operations to the transform dialect.
void registerAnnotateTransformOps(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_ANNOTATE_TRANSFORMOPS_H
