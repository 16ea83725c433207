//===- Variance.h - Sums of squared differences from a mean -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DETACH_VARIANCE_H
#define REMAT_TRANSFORMS_DETACH_VARIANCE_H

#include "remat/Transforms/Match/Copies.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// A sum of squared differences from the mean of the same elements.
struct Variance {
  linalg::LinalgOp sum;
  /// The operand by which the kernel of the differences reads the mean, or a
  /// sum that it scales to the mean.
  OpOperand *mean;
  /// The operations from the kernel of the sum (exclusive) to that of the
  /// differences; null stands for the border of a region.
  SetVector<Operation *> path;
  /// The minuend of the differences, before casts and copies, as a function of
  /// the loops of the sum; and the map by which these read the operand `mean`.
  Read x;
  AffineMap meanMap;
  /// The number of elements added up for each result, and the factors of the
  /// operand `mean` and of the squares.
  double count = 1, meanFactor = 1, factor = 1;
};

/// Returns the variance that `result` of `op` computes, through casts, copies,
/// names and borders of regions, or nullopt.
std::optional<Variance> getVariance(linalg::LinalgOp op, unsigned result);

/// Calls `rewrite` for the variances in `root` that `isWanted` accepts. Those
/// for which `crossesBorders` holds are rewritten (`isPlain`) in a copy of
/// their function without regions, and the operation that `rewrite` returns,
/// which computes the sum there, is transplanted into the function. Returns
/// true if there was one.
bool rewriteVariances(
    Operation *root, function_ref<bool(const Variance &)> isWanted,
    function_ref<bool(const Variance &)> crossesBorders,
    function_ref<Operation *(RewriterBase &, Variance, bool isPlain)> rewrite);

/// Copies the operations on the path of `variance` to the insertion point,
/// without names.
void copyPath(RewriterBase &rewriter, const Variance &variance,
              IRMapping &copies);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_DETACH_VARIANCE_H
