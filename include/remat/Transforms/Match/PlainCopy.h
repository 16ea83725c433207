//===- PlainCopy.h - A function without names and regions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches of whole patterns must not depend on where names and borders of
// regions stand, as bits must not. So a pass matches in a copy of the function
// that has neither, and then moves the new operations to the function.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_MATCH_PLAINCOPY_H
#define REMAT_TRANSFORMS_MATCH_PLAINCOPY_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

class Transplant;

/// A copy of a function without its `remat.name`s and `remat.region`s, which
/// tracks the values of the function that its own values correspond to, also
/// through rewrites that report to its listener.
class PlainCopy {
public:
  explicit PlainCopy(Operation *function);

  Operation *get() { return copy.get(); }
  RewriterBase::Listener *getListener() { return &tracker; }

  /// Moves `op`, which rewrites have added to the copy, into the function: to
  /// the position, and into the region, at which the operations that it
  /// replaces are.
  void transplant(Operation *op);

  /// Returns the operation of the function after which the replacement for `op`
  /// of the copy is to be inserted, or null.
  Operation *findPlace(Operation *op);
  /// Moves `ops`, in this order, into the function, after the operation `place`
  /// (as if there were no regions): all users of the replaced results there
  /// come after it or are replaced as well.
  void transplant(ArrayRef<Operation *> ops, Operation *place);

  /// Erases operations of the function that have become dead. Names of copies
  /// of a transplanted operation's operands move to these operands; a remark,
  /// which ends in `reason`, lists the names that are lost.
  void eraseDead(StringRef reason);

private:
  friend Transplant;

  /// Maps values of the copy to the values of the function they are equal to,
  /// apart from names and values passed through borders of regions.
  struct Tracker : RewriterBase::Listener {
    using Listener::notifyOperationReplaced;
    void notifyOperationReplaced(Operation *op, ValueRange values) override;
    void notifyOperationErased(Operation *op) override;
    void notifyBlockErased(Block *block) override;

    DenseMap<Value, SmallVector<Value, 1>> originals;
  };

  /// New operands in the function that are `original`, or a name of it, perhaps
  /// passed through borders.
  struct Leaf {
    Value original;
    SmallVector<OpOperand *> uses;
  };
  struct Transplanted {
    Operation *first;
    SmallVector<Leaf> leaves;
  };

  const SmallVector<Value, 1> *getOriginals(Value value) const {
    auto known = tracker.originals.find(value);
    return known == tracker.originals.end() ? nullptr : &known->second;
  }
  SmallVector<std::pair<Value, Value>>
  findOriginals(llvm::SetVector<Value> values);
  void transplant(Value plain, Value original);
  void replaceUsesAfter(Operation *place, Value original, Value now);
  bool moveName(Operation *name);
  void forget(Operation *erased);

  Operation *function;
  OwningOpRef<Operation *> copy;
  Tracker tracker;
  /// Positions of the function's values before anything was moved.
  DenseMap<Value, unsigned> positions;
  SmallVector<Transplanted> transplanted;
  /// Values that were replaced and are dead.
  SmallVector<Value> replaced;
  /// Names that now follow transplanted operations.
  DenseSet<Operation *> movedNames;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATCH_PLAINCOPY_H
