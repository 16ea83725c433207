//===- EqualValues.h - Computations done twice ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common subexpression elimination merges what is computed twice, unless names
// or regions stand between. The cotangents of both are added up before they go
// on in either case: f'(x) a + f'(x) b is not, to the bit, f'(x) (a + b).
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_EQUALVALUES_H
#define REMAT_ANALYSIS_EQUALVALUES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::remat {

/// The value that `value` is in the program without names, barriers and
/// regions: the one that is named, passed into a region or yielded by it.
Value lookThroughBorders(Value value);

/// Returns a hash of the values, other than constants, that the regions of `op`
/// capture, by the hashes of these values; zero if there are none. The hash of
/// an operation includes its operands, but not these.
size_t hashReads(Operation *op, function_ref<llvm::hash_code(Value)> hashValue);

/// Values of a block, and of functions in it, that an earlier operation has
/// computed already, were names and regions not there.
class EqualValues {
public:
  explicit EqualValues(Block &block);

  /// Returns the first of the values that are equal to `value`, without names
  /// and borders of regions.
  Value resolve(Value value) const;
  /// Returns all results that are equal to `value`, itself included, in program
  /// order; `value` without names and regions if there are no others.
  SmallVector<Value, 2> getEqual(Value value) const;
  /// Returns the earlier operation that computes the same, or null.
  Operation *getFirst(Operation *op) const;
  /// Returns true if a later operation computes the same as `op` or one in it.
  bool holdsRepeated(Operation *op) const { return repeated.contains(op); }

  /// For rewrites that keep the values: `now` is what `old` was, or `op` and
  /// its results are gone.
  void replace(Value old, Value now);
  void erase(Operation *op);

private:
  class Numbering;

  DenseMap<Value, unsigned> classOf;
  /// In program order.
  SmallVector<SmallVector<Value, 2>, 0> classes;
  DenseSet<Operation *> repeated;
};

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_EQUALVALUES_H
