//===- EqualValues.h - Computations done twice ------------------*- C++ -*-===//
//
// Common subexpression elimination merges what is computed twice, unless names
// or regions stand between. The cotangents of both are added up before they go
// on in either case: f'(x) a + f'(x) b is not, to the bit, f'(x) (a + b).
//
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

/// Operations of a block, and of functions in it, that compute what an earlier
/// one has computed, were names and regions not there.
class EqualValues {
public:
  explicit EqualValues(Block &block);

  /// The value that `value` is without names, regions and repetitions.
  Value resolve(Value value) const;
  /// The earlier operation that computes the same; null if there is none.
  Operation *getFirst(Operation *op) const;
  /// Whether `op` is repeated later, or held something that is.
  bool holdsRepeated(Operation *op) const { return repeated.contains(op); }
  /// All operations that compute what `op` does, itself included; empty if
  /// there never was another one.
  ArrayRef<Operation *> getClass(Operation *op) const;

  /// For rewrites that keep the values: `now` computes what `old` did, `op` is
  /// gone.
  void replace(Operation *old, Operation *now);
  void erase(Operation *op);

private:
  class Numbering;

  DenseMap<Operation *, unsigned> classOf;
  /// In program order.
  SmallVector<SmallVector<Operation *, 2>, 0> classes;
  DenseSet<Operation *> repeated;
};

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_EQUALVALUES_H
