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

/// Returns true if `value` is a function's parameter or optimizer state: what
/// overwrites it is an update.
bool isTrained(Value value);

/// Returns true if the operation writes its results into the buffer of this
/// operand: a destination, or the parameter or a state of an update.
bool isOverwritten(OpOperand &operand);

/// The values that operations below one overwrite: few, whereas a value may
/// have thousands of uses to look at. A rewrite that gives new destinations to
/// operations invalidates it.
class OverwrittenValues {
public:
  explicit OverwrittenValues(Operation *root);
  bool contains(Value value) const { return values.contains(value); }
  /// Records that users of `old` now use `now`.
  void replace(Value old, Value now) {
    if (contains(old))
      values.insert(now);
  }

private:
  DenseSet<Value> values;
};

/// Returns the last operation of `block`, its terminator included, that reads
/// `value` or an alias, directly or in a nested region; null if there is none.
Operation *findLastRead(Block &block, Value value);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_OLDVALUEREADS_H
