//===- MergeGenerics.h - One operation for two that iterate alike -*- C++
//-*-===//

#ifndef REMAT_LIB_CONVERSION_CUDA_MERGEGENERICS_H
#define REMAT_LIB_CONVERSION_CUDA_MERGEGENERICS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Whether `a` and `b` have the same loops, outputs that are accessed alike or,
/// if `b` is a sum, its lanes may do what `a` does,
/// and orders by which neither changes the bits of the other; and whether both
/// together are not too much for one kernel.
bool iterateAlike(linalg::LinalgOp a, linalg::LinalgOp b);

/// Whether the lanes of `sum` may do all that `map` does, element by element,
/// and are many enough for it.
bool canStoreInLanes(linalg::LinalgOp map, linalg::LinalgOp sum);

/// The output of `first`, on memory, of which `input`, of another operation
/// with the same loops, reads in each iteration what `first` stores in this
/// iteration.
std::optional<unsigned> findForwarded(linalg::LinalgOp first, OpOperand &input);

/// An operation with the outputs of `first` and then those of `second`, on
/// tensors or on memory, which reads once what both read, and not what is
/// forwarded. It has the discardable attributes of `second`.
linalg::GenericOp mergeGenerics(OpBuilder &builder, linalg::LinalgOp first,
                                linalg::LinalgOp second);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_MERGEGENERICS_H
