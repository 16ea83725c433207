//===- DecomposableOpInterface.h - Decomposable operations ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_H
#define REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"

#include "remat/Transforms/Decompose/DecomposableOpInterface.h.inc"

namespace mlir::remat {
/// Decomposes every decomposable operation in `root`, innermost first, and the
/// operations that this creates.
void decomposeIn(Operation *root);
/// Registers the decompositions of operations of scf, tensor and linalg.
void registerDecomposableExternalModels(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_H
