//===- Adjoint.h - Reverse mode over blocks ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver proper: walks a forward block backwards, asks each operation's
// rule for its contributions, and sums them. Regions, loops and calls, whose
// bodies it walks in turn, are in files of their own.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_ADJOINT_H
#define REMAT_LIB_AUTODIFF_ADJOINT_H

#include "Sums.h"
#include "remat/Analysis/Activity.h"
#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::remat {

class CallAdjoints;

/// Which forward values have one cotangent: a value on both sides of names and
/// of borders of regions, and values that are computed twice. Contributions are
/// added in the order of the uses, last one first, wherever those stand, and
/// the sum goes back through the first one of equal computations.
class CotangentKeys {
public:
  CotangentKeys(Block &forward, const Activity &activity)
      : equal(forward), activity(activity) {}

  /// The value whose cotangent `value` has.
  Value get(Value value) const;
  /// Returns true if an earlier equal operation has the cotangents of `op`.
  bool isRepetition(Operation *op) const;
  /// Returns true if other operations may share their cotangents with `op`, or
  /// with something in it.
  bool holdsRepeated(Operation *op) const { return equal.holdsRepeated(op); }

private:
  EqualValues equal;
  const Activity &activity;
};

/// A block of the backward under construction. Operations are appended at its
/// end; they use forward values freely, and the owner of the scope (a region, a
/// loop, a function) routes those afterwards to where they can be seen.
struct AdjointScope {
  AdjointScope(Block &block, const CotangentKeys &keys)
      : keys(keys), builder(OpBuilder::atBlockEnd(&block)) {}

  /// The sum of the contributions so far to the cotangent of `value`; null if
  /// there are none.
  Value getCotangent(Value value) const {
    return cotangents.lookup(keys.get(value)).value;
  }
  void setCotangent(Value value, Sum sum) {
    value = keys.get(value);
    cotangents[value] = std::move(sum);
    changed.insert(value);
  }
  void setCotangent(Value value, Value sum) {
    setCotangent(value, Sum{sum, std::nullopt});
  }

  const CotangentKeys &keys;
  OpBuilder builder;
  /// The sums by key.
  DenseMap<Value, Sum> cotangents;
  /// The values whose sums have changed in this scope.
  SetVector<Value> changed;
  /// Sums from around a branch, to which its backward adds where they are.
  DenseSet<Value> accumulators;
};

class Adjoint {
public:
  Adjoint(const Activity &activity, CallAdjoints &calls)
      : activity(activity), calls(calls) {}

  /// Appends to `scope` the backward of `block`, whose results' cotangents the
  /// scope holds. Forward loops and regions in `block` are rewritten to hand
  /// out what their backward reads. Fails with a diagnostic.
  LogicalResult reverseBlock(Block &block, AdjointScope &scope);

  /// Adds `contribution`, made for the operation at `loc`, to the cotangent of
  /// `value`.
  LogicalResult accumulate(AdjointScope &scope, Location loc, Value value,
                           Value contribution);

private:
  LogicalResult reverse(Operation *op, AdjointScope &scope);
  LogicalResult reverseByRule(Operation *op, AdjointScope &scope);
  LogicalResult
  addContributions(Operation *op,
                   ArrayRef<std::pair<Value, Value>> contributions,
                   AdjointScope &scope);
  LogicalResult reverseRegion(RegionOp region, AdjointScope &scope);
  LogicalResult reverseLoop(scf::ForOp loop, AdjointScope &scope);
  LogicalResult reverseCall(func::CallOp call, AdjointScope &scope);
  LogicalResult reverseCustomCall(func::CallOp call, func::FuncOp rule,
                                  AdjointScope &scope);
  LogicalResult reverseBranch(Operation *branch, AdjointScope &scope);

  const Activity &activity;
  CallAdjoints &calls;
  /// Operations that the rule in progress has made, and their order.
  DenseMap<Operation *, unsigned> madeByRule;
  /// Values that the rule contributes more than once: they may not be changed.
  DenseSet<Value> sharedContributions;
};

/// Says that `op` computes with a type that has no derivatives. Fails.
LogicalResult emitHasNoCotangent(Operation *op, Type type);

/// Active values from outside `op` to whose cotangents its regions contribute,
/// in program order, one for each key. Fails with a diagnostic if one has no
/// cotangent.
FailureOr<SmallVector<Value>> collectActiveCaptures(Operation *op,
                                                    const Activity &activity,
                                                    const CotangentKeys &keys);

/// Zeros of the type and shape of `like`, which has a cotangent type.
Value createZerosLike(OpBuilder &builder, Location loc, Value like);

/// A place for the body of a backward whose operands and results are not known
/// yet: a `remat.backward` without any, for the time being.
BackwardOp createProvisionalBackward(OpBuilder &builder, Location loc);

/// Marks `op` and what it holds as part of the backward.
void markBackward(Operation *op);

/// Erases the operations of `block` after `first` (all of them if null) whose
/// results have no users.
void eraseDead(Block &block, Operation *first = nullptr);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_ADJOINT_H
