//===- CarryInPlace.h - One buffer for each carried tensor ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::remat {

/// Makes every tensor that `loop` yields live in the buffer that the iteration
/// got for it.
void carryInPlace(scf::ForOp loop);

/// The same; the first region then passes on what it got, in the same order,
/// followed by what it computes for the second one.
void carryInPlace(scf::WhileOp loop);

/// Takes the tensors out of what `loop`, which carries them in place, carries,
/// if `mayTake` is true of the loop's result: each iteration gets them from the
/// buffer of what they were before the loop, and puts them there, and so does
/// what reads the results. Bufferization then has nothing to find out about
/// them.
void carryInBuffers(scf::ForOp loop, function_ref<bool(OpResult)> mayTake);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H
