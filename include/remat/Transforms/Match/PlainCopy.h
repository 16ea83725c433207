//===- PlainCopy.h - A function without names and regions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a pass finds as a whole must not depend on where names and borders of
// regions stand, as bits must not. It looks for it in a copy of the function
// that has neither, and then moves what it has found to the function.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_MATCH_PLAINCOPY_H
#define REMAT_TRANSFORMS_MATCH_PLAINCOPY_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

class Transplant;

/// A copy of a function without its `remat.name`s and `remat.region`s, which
/// knows values of the function that its own values are, also after rewrites
/// that report to its listener.
class PlainCopy {
public:
  explicit PlainCopy(Operation *function);

  Operation *get() { return copy.get(); }
  RewriterBase::Listener *getListener() { return &tracker; }

  /// Makes `op`, which rewrites have put into the copy, part of the function:
  /// in the place, and in the region, in which that computes what `op` stands
  /// for.
  void transplant(Operation *op);

  /// The operation of the function after which to put what `op` of the copy, or
  /// what stands in its place, is to be part of; null if there is none.
  Operation *findPlace(Operation *op);
  /// Makes `ops`, in this order, part of the function, after the operation
  /// `place` (as if there were no regions): all that reads their results there
  /// comes after it or is replaced as well.
  void transplant(ArrayRef<Operation *> ops, Operation *place);

  /// Erases what nothing in the function reads any more. Names of copies of
  /// what a transplanted operation reads move to its operand; a remark, which
  /// ends in `reason`, says which are gone.
  void eraseDead(StringRef reason);

private:
  friend Transplant;

  /// Values of the function that a value of the copy is, apart from names and
  /// what is passed through borders of regions.
  struct Tracker : RewriterBase::Listener {
    using Listener::notifyOperationReplaced;
    void notifyOperationReplaced(Operation *op, ValueRange values) override;
    void notifyOperationErased(Operation *op) override;
    void notifyBlockErased(Block *block) override;

    DenseMap<Value, SmallVector<Value, 1>> originals;
  };

  /// Operands of what is new in the function that are `original`, or a name of
  /// it, perhaps passed through borders.
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
  /// Values that nothing may read any more.
  SmallVector<Value> replaced;
  /// Names that stand behind what was transplanted now.
  DenseSet<Operation *> movedNames;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATCH_PLAINCOPY_H
