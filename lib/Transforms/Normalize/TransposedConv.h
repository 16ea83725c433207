//===- TransposedConv.h - Convolutions of stuffed images --------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_NORMALIZE_TRANSPOSEDCONV_H
#define REMAT_LIB_TRANSFORMS_NORMALIZE_TRANSPOSEDCONV_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Whether the library has the types of a convolution on tensors, and a
/// workspace can be reserved.
bool isConvForLibrary(linalg::LinalgOp op);

/// Adds the accumulator of `op`, a bias perhaps, to what replaces it, `result`.
Value addAccumulator(OpBuilder &builder, linalg::LinalgOp op, Value result);

/// What a transposed convolution starts from to overwrite it: the memory that
/// the accumulator of `op` fills with zeros, or memory of its own.
Value getConvDestination(OpBuilder &builder, linalg::LinalgOp op);

/// If `op` is a convolution of images between whose elements there are zeros,
/// as front ends write transposed convolutions: its result by the operation
/// that reads the elements alone. Null for any other operation.
Value raiseTransposedConv(OpBuilder &builder, linalg::LinalgOp op);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_NORMALIZE_TRANSPOSEDCONV_H
