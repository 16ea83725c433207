//===- Slice.h - What to save and what to recompute -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PLAN_SLICE_H
#define REMAT_TRANSFORMS_PLAN_SLICE_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// How a region provides the values that a backward needs.
struct Slice {
  /// Values that cross as residuals.
  SetVector<Value> saved;
  /// Operations to recompute, in program order.
  SmallVector<Operation *> ops;
  /// Arguments of the region and saved values that `ops` read.
  SetVector<Value> inputs;
};

/// The slice of `region` for `needed` (values of its body, without names): goes
/// back from them to the region's arguments, and stops at values that the
/// policy permits. A permitted value that costs nothing to recompute from
/// others that are no bigger is recomputed all the same: constants, fills,
/// views, and draws of random numbers, of which only the state is saved. It
/// also stops at what is `kept` for others, whatever the policy says.
Slice computeSlice(RegionOp region, ArrayRef<Value> needed,
                   const SetVector<Value> &kept);

/// Size of a value of this type in memory; 0 if it is not static.
int64_t getNumBytes(Type type);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_SLICE_H
