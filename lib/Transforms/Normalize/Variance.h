//===- Variance.h - Sums of squared differences from a mean -----*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_NORMALIZE_VARIANCE_H
#define REMAT_LIB_TRANSFORMS_NORMALIZE_VARIANCE_H

#include "Copies.h"

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

/// Calls `visit` for the variances in `root`.
void forEachVariance(Operation *root, function_ref<void(Variance)> visit);

/// Copies what is on the path of `variance` to where it is, without names.
void copyPath(RewriterBase &rewriter, const Variance &variance,
              IRMapping &copies);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_NORMALIZE_VARIANCE_H
