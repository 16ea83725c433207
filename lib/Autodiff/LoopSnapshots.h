//===- LoopSnapshots.h - Backward of a loop from few states -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop in a region with `#remat.snapshots` has no tapes of what its backward
// reads. It keeps what it carries before a few iterations, and the backward of
// an iteration recomputes that iteration.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_LOOPSNAPSHOTS_H
#define REMAT_LIB_AUTODIFF_LOOPSNAPSHOTS_H

#include "Dependences.h"
#include "remat/Analysis/Effects.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Returns the policy by which `loop` keeps snapshots; null if there is none.
PolicyAttrInterface getSnapshotPolicy(scf::ForOp loop);

/// Turns the backward of a loop, which was built as if it could see the values
/// of each iteration, into one that recomputes them.
class LoopSnapshots {
public:
  /// `loop` is as the model has it: its body is not differentiated yet.
  LoopSnapshots(scf::ForOp loop, PolicyAttrInterface policy);

  /// Moves the body of `loop`, of which `backward` reads values, into that
  /// loop, where it computes iteration `iteration`. The forward loop is one
  /// without what the backward wanted of it, which takes snapshots. Fails with
  /// a diagnostic.
  LogicalResult finish(scf::ForOp &loop, scf::ForOp &backward, Value tripCount,
                       Value iteration);

private:
  /// Values that a loop carries to take snapshots: the slots, the iteration
  /// before which the next one is taken, and the slot of that.
  struct Taking {
    SmallVector<Value> slots;
    Value next, slot;
  };

  LogicalResult checkReplayable(Operation *op, StringRef reason);
  LogicalResult moveBody(scf::ForOp loop, scf::ForOp backward, Value iteration);
  LogicalResult findState(scf::ForOp loop);
  LogicalResult countSnapshots(Value tripCount);
  SmallVector<Value> getState(ValueRange carried) const;
  Value getFree(OpBuilder &builder, Value slot);
  Taking take(OpBuilder &builder, Value number, ValueRange state, Value end,
              const Taking &before);
  LogicalResult growForward(Value tripCount);
  SmallVector<Value> read(OpBuilder &builder, ValueRange places, Value index);
  SmallVector<Value> runIteration(OpBuilder &builder, Value number,
                                  ValueRange state);
  SmallVector<Value> advance(OpBuilder &builder, Value iteration,
                             Value tripCount, SmallVector<Value> &slots);
  SmallVector<Value> growBackward(scf::ForOp &backward, Value iteration,
                                  Value tripCount);
  void guardInputs(scf::ForOp backward, Operation *first, Operation *end);

  PolicyAttrInterface policy;
  /// The loop of the forward.
  scf::ForOp forward;
  Location loc;
  Effects effects;
  /// Leads from a state to the next one.
  Dependences next;
  /// Which carried values an iteration reads, in the backward or to have those
  /// of the next one: the state.
  llvm::BitVector isState;
  /// The tensors with the snapshots, as the forward loop leaves them.
  SmallVector<Value> slots;
  int64_t numSnapshots = 0;
  /// The state before each iteration is kept: slots are tapes.
  bool keepsAll = false;
};

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_LOOPSNAPSHOTS_H
