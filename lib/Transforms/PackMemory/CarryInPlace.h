//===- CarryInPlace.h - One buffer for each carried tensor ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::remat {

/// Puts every tensor that `loop` yields into the buffer of the iteration's
/// argument.
void carryInPlace(scf::ForOp loop);

/// Does the same; the before-region then forwards its arguments, in the same
/// order, followed by values that it computes for the after-region.
void carryInPlace(scf::WhileOp loop);

/// Removes tensors from the iter_args of `loop`, which carries them in place,
/// if `mayTake` is true for the loop's result: each iteration reads them from
/// the buffer of the initial value, and writes them there, and users of the
/// results read them from there. Bufferization then does not analyze them.
void carryInBuffers(scf::ForOp loop, function_ref<bool(OpResult)> mayTake);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H
