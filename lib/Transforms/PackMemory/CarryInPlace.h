//===- CarryInPlace.h - One buffer for each carried tensor ------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Makes every tensor that `loop` yields live in the buffer that the iteration
/// got for it.
void carryInPlace(scf::ForOp loop);

/// The same; the first region then passes on what it got, in the same order,
/// followed by what it computes for the second one.
void carryInPlace(scf::WhileOp loop);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_CARRYINPLACE_H
