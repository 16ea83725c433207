//===- Recompute.h - Slices and their recomputed copies ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recompute is a slice of the program (`collectSlice`) whose copies
// (`cloneRecompute`) read its inputs through a barrier (`createGuard`):
// otherwise CSE merges them with the originals, or a scheduler moves them to
// where the originals are.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_UTILS_RECOMPUTE_H
#define REMAT_TRANSFORMS_UTILS_RECOMPUTE_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Returns the operations that compute `values`, in the order of the program.
/// Goes back over the operands and captures of the operation of each value for
/// which `follows` returns true; fails if it does. `getSource`, if given, is
/// applied to all values first.
FailureOr<SetVector<Operation *>>
collectSlice(ValueRange values, function_ref<FailureOr<bool>(Value)> follows,
             Value (*getSource)(Value) = nullptr);

/// Creates a barrier, which waits for `after`, on the values that `mapping` has
/// for `values` (or on these), each once, and maps `values` to its results.
BarrierOp createGuard(OpBuilder &builder, Location loc, ArrayRef<Value> values,
                      ValueRange after, IRMapping &mapping,
                      bool repeated = false);

/// Puts `root` and the operations of the step in it into `phase`.
void setPhases(Operation *root, StringRef phase);

/// Clones `op` with `mapping`. The clone is in `phase`.
Operation *cloneRecompute(OpBuilder &builder, Operation *op, IRMapping &mapping,
                          StringRef phase);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_RECOMPUTE_H
