//===- Kernels.h - Kernels of an update -------------------------*- C++ -*-===//
//
// What clipping by one gradient's norm and by all gradients' norm share.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_KERNELS_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_KERNELS_H

#include "mlir/IR/Builders.h"

namespace mlir::remat {

/// `value` in the floating-point type `type`.
Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type);

/// The sum (f64) of the squares of `tensor`'s elements. `prepare`, if there is
/// one, turns an element into what is squared; it sees the kernel's arguments
/// for `scalars`.
Value emitSumOfSquares(
    OpBuilder &builder, Location loc, Value tensor, ValueRange scalars = {},
    function_ref<Value(OpBuilder &, Location, Value, ValueRange)> prepare = {});

/// min(1, maxNorm / (norm + 1e-6)) in f64, as torch.nn.utils.clip_grad_norm_.
Value emitClipFactor(OpBuilder &builder, Location loc, Value norm,
                     double maxNorm);

/// An f64 constant.
Value emitF64(OpBuilder &builder, Location loc, double value);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_KERNELS_H
