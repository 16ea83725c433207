//===- Loops.h - Iterations by their numbers --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_AUTODIFF_LOOPS_H
#define REMAT_LIB_AUTODIFF_LOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Returns the value of an integer constant.
std::optional<int64_t> getConstant(Value value);

/// (iv - lower) / step, an index.
Value createIterationNumber(OpBuilder &builder, scf::ForOp loop);

/// lower + number * step, of the induction variable's type.
Value createInductionValue(OpBuilder &builder, scf::ForOp loop, Value number);

/// Creates a tape without contents before `loop`, with `count` positions for
/// `value`, which is defined in the loop. Returns null if a tensor cannot hold
/// the value, or if its size is not known before the loop.
Value createTape(scf::ForOp loop, Value value, OpFoldResult count);

/// Says at `value`, which is defined in a loop, why it has no tape.
void explainNoTape(Value value);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_LOOPS_H
