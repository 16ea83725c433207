//===- Variance.h - Sums of squared differences from a mean -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DETACH_VARIANCE_H
#define REMAT_TRANSFORMS_DETACH_VARIANCE_H

#include "remat/Transforms/Match/Copies.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// A sum of squared differences from a mean, over the elements that this is the
/// mean of.
struct Variance {
  linalg::LinalgOp sum;
  /// By which the kernel of the differences reads the mean, or a sum that it
  /// makes the mean of.
  OpOperand *mean;
  /// From the kernel of the sum (exclusive) to that of the differences; with a
  /// null where there is the border of a region.
  SetVector<Operation *> path;
  /// What the differences are of, before casts and copies, from the loops of
  /// the sum; and how these read the operand `mean`.
  Read x;
  AffineMap meanMap;
  /// How many elements there are for each result, and numbers by which the
  /// operand `mean` and the squares are multiplied.
  double count = 1, meanFactor = 1, factor = 1;
};

/// What `result` of `op` is, through casts, copies, names and borders of
/// regions; none if it is anything else.
std::optional<Variance> getVariance(linalg::LinalgOp op, unsigned result);

/// Calls `rewrite` for the variances in `root` that `isWanted` says to be.
/// Those for which `crossesBorders` holds are rewritten (`isPlain`) in a copy
/// of their function without borders of regions, and what `rewrite` returns,
/// which computes the sum there, becomes part of the function. Returns whether
/// there was one.
bool rewriteVariances(
    Operation *root, function_ref<bool(const Variance &)> isWanted,
    function_ref<bool(const Variance &)> crossesBorders,
    function_ref<Operation *(RewriterBase &, Variance, bool isPlain)> rewrite);

/// Copies what is on the path of `variance` to where it is, without names.
void copyPath(RewriterBase &rewriter, const Variance &variance,
              IRMapping &copies);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_DETACH_VARIANCE_H
