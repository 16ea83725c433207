//===- Adjoint.h - Reverse mode over blocks ---------------------*- C++ -*-===//
//
// The driver proper: walks a forward block backwards, asks each operation's
// rule for its contributions, and sums them. Regions, loops and calls, whose
// bodies it walks in turn, are in files of their own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_ADJOINT_H
#define REMAT_LIB_AUTODIFF_ADJOINT_H

#include "remat/Analysis/Activity.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::remat {

class CallAdjoints;

/// A block of the backward under construction. Operations are appended at its
/// end; they use forward values freely, and the owner of the scope (a region, a
/// loop, a function) routes those afterwards to where they can be seen.
struct AdjointScope {
  explicit AdjointScope(Block &block)
      : builder(OpBuilder::atBlockEnd(&block)) {}

  OpBuilder builder;
  /// Sum of the contributions so far to the cotangent of a forward value.
  DenseMap<Value, Value> cotangents;
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
  /// What that rule contributes more than once, and so must stay as it is.
  DenseSet<Value> sharedContributions;
};

/// Says that `op` computes with a type that has no derivatives. Fails.
LogicalResult emitHasNoCotangent(Operation *op, Type type);

/// Active values from outside `op` that its regions read, in program order.
/// Fails with a diagnostic if one has no cotangent.
FailureOr<SetVector<Value>> collectActiveCaptures(Operation *op,
                                                  const Activity &activity);

/// Zeros of the type and shape of `like`, which has a cotangent type.
Value createZerosLike(OpBuilder &builder, Location loc, Value like);

/// A place for the body of a backward whose operands and results are not known
/// yet: a `remat.backward` without any, for the time being.
BackwardOp createProvisionalBackward(OpBuilder &builder, Location loc);

/// Marks `op` and what it holds as part of the backward.
void markBackward(Operation *op);

/// Erases the operations of `block` after `first` (all of them if null) whose
/// results nobody reads.
void eraseDead(Block &block, Operation *first = nullptr);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_ADJOINT_H
