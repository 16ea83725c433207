//===- Captures.h - Forward values that the backward reads ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward of a region, loop or function is first built as if it could see
// every forward value. The values that it turns out to read are then saved for
// it, or recomputed where that costs nothing.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_CAPTURES_H
#define REMAT_LIB_AUTODIFF_CAPTURES_H

#include "remat/Analysis/Effects.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::remat {

/// Uses of each foreign value, in program order of the first use.
using Captures = llvm::MapVector<Value, SmallVector<OpOperand *>>;

/// Returns true if saving the operands of `op` is always at least as good as
/// saving its result.
bool isSmallerBefore(Operation *op);

/// Brings values that are foreign to a piece of backward into it. Subclasses
/// say what foreign means and how a value is saved.
class CaptureImporter {
public:
  explicit CaptureImporter(Region &backward) : backward(backward) {}
  virtual ~CaptureImporter();

  /// Replaces every use of a foreign value in the backward by a local value.
  LogicalResult run();

protected:
  /// Returns true if the backward cannot see `value` as it stands.
  virtual bool isForeign(Value value) = 0;
  /// Returns true if `makeAvailable` brings in `value` without saving anything.
  virtual bool isAvailable(Value value) = 0;
  virtual Value makeAvailable(Value value) = 0;
  /// Saves `value` in the forward; returns the saved value as the backward sees
  /// it, or null if it cannot be saved and has to be recomputed.
  virtual Value save(Value value, OpBuilder &builder) = 0;
  /// Returns how many values each saved one stands for, if that is known.
  virtual std::optional<int64_t> countSaves() { return 1; }
  /// Says at `value` why it could neither be saved nor recomputed.
  virtual void explain(Value value) {}

private:
  void hoistDims();
  Captures collect();
  Value import(Value root, OpBuilder &builder);
  Value importOne(Value value, OpBuilder &builder);
  bool isHere(Value value);
  bool isRebuilt(Value value);
  bool isSmallerUncut(tensor::ExtractSliceOp slice);
  bool canRebuild(Value value);
  Value rebuild(Operation *op, Value value, OpBuilder &builder);
  Value recompute(Value value, OpBuilder &builder);

  Region &backward;
  Effects effects;
  DenseMap<Value, Value> imported;
  DenseMap<Value, bool> rebuildable;
};

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_CAPTURES_H
