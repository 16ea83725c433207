//===- Transplant.h - From a plain copy to its function ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_MATCH_TRANSPLANT_H
#define REMAT_LIB_TRANSFORMS_MATCH_TRANSPLANT_H

#include "remat/Transforms/Match/PlainCopy.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Returns the operation that has `value` as its result or as an argument of
/// its body.
Operation *getOwner(Value value);

/// Returns `original`, its names, and both on other sides of borders.
SmallVector<Value> collectPassedOn(Value original);

/// Returns the value that `value` holds in another order or shape, or null if
/// it is computed.
Value getReordered(Value value, bool withBroadcasts);

/// Computes values of a copy in its function from values of the function.
class Transplant {
public:
  /// Uses those names of its operands, in the block of `user`, that `user` is
  /// computed from.
  Transplant(PlainCopy &owner, Operation *user)
      : owner(owner), user(user), builder(user) {}

  /// Computes `plain` values, and the values that they depend on, at `point`.
  SmallVector<Value> run(ArrayRef<Value> plain, Block::iterator point);

  /// Routes `value` over the borders in between into the block of `user`.
  static Value route(Value value, Operation *user);

private:
  Value findOriginal(Value plain);
  void collectLeaves(Value root);
  SmallVector<Value> chooseAliases();
  Value make(Value root);
  void makeOne(Operation *op);

  PlainCopy &owner;
  Operation *user;
  OpBuilder builder;
  DenseSet<Value> roots;
  llvm::SetVector<Value> leaves;
  IRMapping made;
  PlainCopy::Transplanted result{nullptr, {}};
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_MATCH_TRANSPLANT_H
