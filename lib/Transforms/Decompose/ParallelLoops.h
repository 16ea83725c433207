//===- ParallelLoops.h - Parallel loops as sequential ones ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_DECOMPOSE_PARALLELLOOPS_H
#define REMAT_LIB_TRANSFORMS_DECOMPOSE_PARALLELLOOPS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
namespace scf {
class ForallOp;
class ParallelOp;
} // namespace scf
namespace tensor {
class ScatterOp;
} // namespace tensor

namespace remat {

/// Replaces `forall` by a nest of scf.for that inserts, one after the other,
/// the slices that the iterations insert in parallel. Fails if they combine
/// results in another way.
LogicalResult replaceByParts(RewriterBase &rewriter, scf::ForallOp forall);
/// Replaces `parallel` by a nest of scf.for that reduces in the order of the
/// iterations. Fails if there are no results.
LogicalResult replaceByParts(RewriterBase &rewriter, scf::ParallelOp parallel);
/// Returns the `count` coordinates that `indices` of a gather or scatter hold
/// at `position`, as indices.
SmallVector<Value> readCoordinates(OpBuilder &builder, Location loc,
                                   Value indices, ValueRange position,
                                   unsigned count);
/// Replaces `scatter` by a nest of scf.for over the positions, each of which
/// inserts a slice.
LogicalResult replaceByParts(RewriterBase &rewriter, tensor::ScatterOp scatter);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_DECOMPOSE_PARALLELLOOPS_H
