//===- TimedRebuilds.h - What is worth a kernel in the backward -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that elementwise kernels make of others which the backward keeps
// anyway need not be kept: made again in front of the product that reads it, it
// exists only that long. That costs time, of which there is a budget.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_PLAN_TIMEDREBUILDS_H
#define REMAT_LIB_TRANSFORMS_PLAN_TIMEDREBUILDS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// A tensor that the backward reads of the forward.
struct TimedResidual {
  OpResult value;
  /// The operations of the block in which the backward reads it, or what is
  /// fused or viewed of it.
  SmallVector<Operation *> readers;
  /// Whether it is made again as it stands: nothing keeps it.
  bool isRebuilt = false;
  /// Whether it may be made again, or somebody has decided that it stays.
  bool mayBeRebuilt = false;
};

struct TimedRebuilds {
  llvm::SetVector<Value> rebuilt;
  /// Small values, not among the residuals, of which others are made.
  llvm::SetVector<Value> kept;
};

/// Chooses among `residuals`, in the order of the block, those that are made
/// again, those first that take the least time for a byte, as long as all of it
/// is a small part of what `block` takes. No value lives longer for it than
/// before but small ones, so that the peak does not grow: what a value is made
/// of is read later in the backward, or an eighth of it.
TimedRebuilds chooseTimedRebuilds(Block &block,
                                  ArrayRef<TimedResidual> residuals);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_TIMEDREBUILDS_H
