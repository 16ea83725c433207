//===- Variance.h - Sums of squared differences from a mean -----*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_NORMALIZE_VARIANCE_H
#define REMAT_LIB_TRANSFORMS_NORMALIZE_VARIANCE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
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
};

/// What `result` of `op` is, through casts, copies, names and borders of
/// regions; none if it is anything else.
std::optional<Variance> getVariance(linalg::LinalgOp op, unsigned result);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_NORMALIZE_VARIANCE_H
