//===- MicroBatches.h - Gradient accumulation -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_MICROBATCHES_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_MICROBATCHES_H

#include "StepFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Wraps the body of `step` in a loop over `count` micro-batches. Data
/// arguments grow by that factor; model and random states are carried from one
/// to the next; scalar results are averaged. The gradients in `step.trained`
/// become *sums* over the micro-batches, in the type that the rule computes in.
LogicalResult accumulateOverMicroBatches(StepFunction &step, int64_t count);

/// Does the same with one loop for the forward and one for each part of the
/// backward (`Stages.h`), so that only the sums of one part's gradients are
/// live at once. Fails with a diagnostic where a value cannot be passed from
/// one loop to another.
LogicalResult distributeOverMicroBatches(StepFunction &step, int64_t count);

//===----------------------------------------------------------------------===//
// What both share
//===----------------------------------------------------------------------===//

/// Checks that results are states or scalars, and lets each data argument hold
/// `count` micro-batches. `types` are the types of one.
LogicalResult growData(StepFunction &step, int64_t count,
                       SmallVectorImpl<RankedTensorType> &types);

/// A loop over `count` micro-batches, with an empty body.
scf::ForOp createMicroBatchLoop(OpBuilder &builder, Location loc, int64_t count,
                                ValueRange inits);

/// Micro-batch `index` of the argument, which was of type `type`.
Value extractMicroBatch(OpBuilder &builder, Value argument,
                        RankedTensorType type, Value index);

/// Returns what results start from: the old state, or zero for a scalar.
SmallVector<Value> emitResultInits(OpBuilder &builder, StepFunction &step);

/// Zeros, to which the gradient is added.
Value emitZeroSum(OpBuilder &builder, StepFunction &step,
                  const TrainedParameter &trained);

/// sum + gradient, in the sum's buffer.
Value emitAccumulate(OpBuilder &builder, Location loc, Value gradient,
                     Value sum);

/// Returns what a loop passes on for result `index`, of which this
/// micro-batch's value is `next`: the state, or the sum with it.
Value emitResultNext(OpBuilder &builder, StepFunction &step, unsigned index,
                     Value next, Value sum);

/// Returns what the loop has carried: states, and means of scalars over `count`
/// micro-batches.
void returnResults(StepFunction &step, ValueRange carried, int64_t count);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_MICROBATCHES_H
