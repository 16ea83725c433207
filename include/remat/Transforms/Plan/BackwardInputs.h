//===- BackwardInputs.h - Forward values that a backward reads --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner decides about these values; materialization replaces them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLAN_BACKWARDINPUTS_H
#define REMAT_TRANSFORMS_PLAN_BACKWARDINPUTS_H

#include "remat/Transforms/Plan/ResidualPaths.h"

namespace mlir::remat {

/// One backward of one region: its arguments in terms of the forward.
struct BackwardInputs {
  BackwardOp op;
  /// For values of the region's body (without names): the argument that has it.
  DenseMap<Value, BlockArgument> have;
  /// The inverse: what an argument has.
  DenseMap<BlockArgument, Value> valueOf;
  /// Arguments of the region that arrive as operands and are read.
  SmallVector<Value> operands;
  /// Values that arrive as residuals and are read.
  SmallVector<Value> needed;
  /// The cotangents and sums, for which a recompute waits.
  SmallVector<BlockArgument> cotangents;

  /// The plan of the backward, if it has one.
  PlanOp getPlan();
  /// The forward value that `value` is; null for what the backward computes
  /// itself, which a plan that was edited may name.
  Value lookup(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? valueOf.lookup(argument) : Value();
  }
  void set(Value value, BlockArgument argument) {
    have[value] = argument;
    valueOf[argument] = value;
  }
};

/// The backwards that read residuals of `region`, in the order of their first
/// use. Residuals with an entry in `opaque` (see `ResidualPaths::getReads`) are
/// not among those needed. A value that arrives twice is read once afterwards.
SmallVector<BackwardInputs> getBackwards(RegionOp region, ResidualPaths &paths,
                                         SmallVectorImpl<Operation *> &opaque);

/// Returns true if all users of `value`, or of the tape `value`, are inner
/// backwards that recompute it: then nothing else needs it.
bool isReplacedInside(Value value);

/// Drops operands that the body of `backward` does not read: they must not look
/// needed to the regions around.
void dropUnusedInputs(BackwardOp backward);

/// Bodies of all regions of `module`: those of called functions first, then
/// inner ones before outer ones.
SmallVector<Block *> getRegionBodies(ModuleOp module);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_BACKWARDINPUTS_H
