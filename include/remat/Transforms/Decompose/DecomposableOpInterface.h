//===- DecomposableOpInterface.h - Operations in parts ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_H
#define REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"

#include "remat/Transforms/Decompose/DecomposableOpInterface.h.inc"

namespace mlir::remat {
/// Replaces every operation in `root` that is decomposable, from the inside
/// out, and what comes of it, likewise.
void decomposeIn(Operation *root);
/// Registers the decompositions of loops of scf and of operations of tensor and
/// linalg.
void registerDecomposableExternalModels(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_H
