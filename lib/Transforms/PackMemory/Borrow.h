//===- Borrow.h - Memory that a called function gets ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_BORROW_H
#define REMAT_TRANSFORMS_PACKMEMORY_BORROW_H

#include "CallOrder.h"
#include "Lifetimes.h"

namespace mlir::remat {

/// What a private function does with memory of its callers: that of results,
/// which holds nothing at first, and that of operands which no caller reads
/// again. One may be the other's, and both are free for a while.
class Borrowing {
public:
  Borrowing(func::FuncOp function, const Lifetimes &lifetimes,
            const CallOrder &order);

  /// The argument in which `size` bytes, all of them elements of `type`, have a
  /// place for that time; null if there is none. They are taken from then on.
  BlockArgument take(Lifetime lifetime, int64_t size, Type type);

  /// Makes results that go where an operand was the operand, here and in calls.
  void mergeArguments();

private:
  struct Lender {
    BlockArgument argument;
    int64_t size;
    Type type;
    /// When it is not free.
    SmallVector<Lifetime> taken;
  };

  void mergeIntoOperand(BlockArgument result);
  bool canMerge(BlockArgument result, const Lender &operand) const;
  bool isResult(BlockArgument argument);
  Operation *findOperation(int64_t at) const;

  func::FuncOp function;
  const Lifetimes &lifetimes;
  ArrayRef<func::CallOp> calls;
  SmallVector<Lender> lenders;
  /// Results, and the operands where they go.
  SmallVector<std::pair<BlockArgument, BlockArgument>> merged;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_BORROW_H
