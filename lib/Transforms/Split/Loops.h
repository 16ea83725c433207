//===- Loops.h - Which loop goes through which dimension --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_SPLIT_LOOPS_H
#define REMAT_LIB_TRANSFORMS_SPLIT_LOOPS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {

/// A loop for each dimension of a tensor, or -1 where each iteration may need
/// all of the dimension.
using LoopOfDim = SmallVector<int>;

/// How parts of a result become it.
struct Combination {
  CollectiveKind kind;
  /// The neutral element; null if the operation overwrites its destination.
  TypedAttr neutral;
  /// An operation on two elements.
  std::function<Value(OpBuilder &, Location, Value, Value)> combine;
};

/// How an operation goes through its operands and results. Iteration i of a
/// loop needs position i of each dimension that the loop goes through, and of
/// its own number no more than that.
struct IterationSpace {
  struct Operand {
    /// Of the operation, or of one in its body that reads around it.
    OpOperand *use;
    LoopOfDim dims;
  };
  unsigned count = 0;
  /// Tensors that are read in part; others are read as a whole.
  SmallVector<Operand> operands;
  /// For each result.
  SmallVector<LoopOfDim> results;
  /// Loops whose iterations are combined in results without a dimension for
  /// them.
  SmallVector<unsigned> reduced;
  /// How these combine each result, where they do.
  SmallVector<std::optional<Combination>> combinations;
};

/// Returns the loops of `op`, or nothing if it has no rule here.
std::optional<IterationSpace> getLoops(Operation *op);

/// Values of the body of `op` which are the number of an iteration of loop
/// `loop`, but for those uses which only find a position in a tensor that the
/// loop goes through.
SmallVector<OpOperand *>
findPositions(Operation *op, const IterationSpace &loops, unsigned loop);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_SPLIT_LOOPS_H
