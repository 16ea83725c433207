//===- MergeGenerics.h - Merging operations that iterate alike --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_MERGEGENERICS_H
#define REMAT_LIB_CONVERSION_MERGEGENERICS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// The operands of both in one: what both read alike counts once.
unsigned countOperands(linalg::LinalgOp a, linalg::LinalgOp b);

/// Returns true if `a` and `b` have loops of the same sizes, and both together
/// are not too much for one kernel.
bool fitOneKernel(linalg::LinalgOp a, linalg::LinalgOp b);

/// Returns true if they also have loops of the same kinds, outputs that are
/// accessed alike, and orders by which neither changes the bits of the other.
bool iterateAlike(linalg::LinalgOp a, linalg::LinalgOp b);

/// The output of `first`, on memory, of which `input`, of another operation
/// with the same loops, reads in each iteration what `first` stores in this
/// iteration.
std::optional<unsigned> findForwarded(linalg::LinalgOp first, OpOperand &input);

/// An operation with the outputs of `first` and then those of `second`, on
/// tensors or on memory, which reads once what both read. It has the
/// discardable attributes of `second`.
linalg::GenericOp mergeGenerics(OpBuilder &builder, linalg::LinalgOp first,
                                linalg::LinalgOp second);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_MERGEGENERICS_H
