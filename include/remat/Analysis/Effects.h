//===- Effects.h - What may run twice ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recompute must not have an effect a second time: an update of running
// statistics, a print, an assertion happen once per step.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_EFFECTS_H
#define REMAT_ANALYSIS_EFFECTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {

/// Returns true if running `op` does nothing besides computing its results but
/// to allocate memory for them: it has no effects, or it, or operations inside
/// of it, are destinations.
bool hasNoEffectButAllocation(Operation *op);

/// Purity across calls. A function without a body is pure if it says so by the
/// unit attribute `remat.pure`.
class Effects {
public:
  /// Returns true if running `op` once more, or not at all, changes nothing but
  /// its results.
  bool isPure(Operation *op);

  /// Returns true if a copy of `op` may run: every operation below it is pure,
  /// or has effects only and can be left out of the copy. `culprit` is the
  /// first operation that is neither.
  bool isReplayable(Operation *op, Operation *&culprit);

  /// Leaves out of `copy`, which is replayable, what has effects only.
  void eraseEffects(Operation *copy);

private:
  bool isPureFunction(func::FuncOp function);

  SymbolTableCollection symbols;
  DenseSet<Operation *> pureFunctions, impureFunctions;
};

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_EFFECTS_H
