//===- OldValueReads.h - Who reads a parameter's old value ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An update in place must not overtake a read of the value that it overwrites.
// On tensors the order is no matter of correctness, but bufferization would pay
// for a wrong one with a copy of the parameter.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_OLDVALUEREADS_H
#define REMAT_ANALYSIS_OLDVALUEREADS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// `root` and every value that may share its buffer: what views, barriers,
/// names, loops, branches and calls make of it.
llvm::SetVector<Value> collectAliases(Value root);

/// Whether `value` is a function's parameter or optimizer state: what
/// overwrites it is an update.
bool isTrained(Value value);

/// Whether the operation writes its results into the buffer of this operand: a
/// destination, or the parameter or a state of an update.
bool isOverwritten(OpOperand &operand);

/// The values that operations inside of one overwrite: few, whereas a value may
/// have thousands of uses to look at. A rewrite that gives destinations to its
/// operations that none had before makes this wrong.
class OverwrittenValues {
public:
  explicit OverwrittenValues(Operation *root);
  bool contains(Value value) const { return values.contains(value); }
  /// Says that what read `old` reads `now`.
  void replace(Value old, Value now) {
    if (contains(old))
      values.insert(now);
  }

private:
  DenseSet<Value> values;
};

/// The last operation of `block` that reads `value` or an alias, directly or in
/// a nested region; null if there is none. The terminator counts.
Operation *findLastRead(Block &block, Value value);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_OLDVALUEREADS_H
