//===- TimedRebuilds.h - Recomputes that are worth a kernel -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that elementwise kernels compute from others which the backward keeps
// anyway need not be kept: if it is recomputed before the product that reads
// it, it is live only that long. That costs time, of which there is a budget.
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
  /// The operations of the block in which the backward reads it, or a value
  /// that is recomputed from it.
  SmallVector<Operation *> readers;
  /// It is recomputed already: nothing keeps it.
  bool isRebuilt = false;
  /// It may be recomputed; otherwise it has been decided that it stays.
  bool mayBeRebuilt = false;
};

struct TimedRebuilds {
  llvm::SetVector<Value> rebuilt;
  /// Small values, not among the residuals, from which others are recomputed.
  llvm::SetVector<Value> kept;
};

/// Chooses residuals to recompute among `residuals`, which are in the order of
/// the block: first those that take the least time per byte, as long as all of
/// them take a small part of the time of `block`. Only small values live longer
/// for it than before, so that the peak does not grow: the sources of a value
/// are read later in the backward, or have at most an eighth of its bytes.
TimedRebuilds chooseTimedRebuilds(Block &block,
                                  ArrayRef<TimedResidual> residuals);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_TIMEDREBUILDS_H
