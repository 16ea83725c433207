//===- Borrow.h - Memory that a called function gets ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_BORROW_H
#define REMAT_TRANSFORMS_PACKMEMORY_BORROW_H

#include "CallOrder.h"
#include "Lifetimes.h"

namespace mlir::remat {

/// Lends a private function memory of its callers while that is free: that of
/// results before their first access, and that of operands which no caller
/// reads again after their last one. A result may take over such an operand's
/// memory.
class Borrowing {
public:
  Borrowing(func::FuncOp function, const Lifetimes &lifetimes,
            const CallOrder &order);

  /// Returns the argument in which `size` bytes, all of them elements of
  /// `type`, have a place for that time, and reserves them; null if there is
  /// none.
  BlockArgument take(Lifetime lifetime, int64_t size, Type type);

  /// Replaces results that take over an operand by the operand, here and in
  /// calls.
  void mergeArguments();

private:
  struct Lender {
    BlockArgument argument;
    int64_t size;
    Type type;
    /// The times at which it is not free.
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
  /// Results, and the operands that they take over.
  SmallVector<std::pair<BlockArgument, BlockArgument>> merged;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_BORROW_H
