//===- TakeOver.h - Results take over dying operands ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_TAKEOVER_H
#define REMAT_TRANSFORMS_PACKMEMORY_TAKEOVER_H

#include "Lifetimes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Finds buffers that can be at the place of another one that dies where they
/// begin.
class TakeOver {
public:
  explicit TakeOver(Lifetimes &lifetimes);

  void run(func::FuncOp function);

  /// The first buffer in the chain that shares its place with buffer `index`.
  unsigned getPlace(unsigned index) const { return placeOf[index]; }
  const llvm::SetVector<memref::CopyOp> &getNeedlessCopies() const {
    return needlessCopies;
  }
  int64_t getCount() const { return takenOver.count(); }

private:
  void visitElementwise(linalg::LinalgOp op);
  void visitAllReduce(AllReduceOp op);
  void visitCopy(memref::CopyOp copy);
  int getWhole(Value value) const;
  int getStarting(Value value, Operation *op) const;
  int getDying(Value value, Operation *op) const;
  bool isReadWith(linalg::LinalgOp op, int index, AffineMap map) const;
  bool canMerge(int operand, int result) const;
  void merge(int operand, int result);

  Lifetimes &lifetimes;
  SmallVector<unsigned> placeOf;
  llvm::BitVector takenOver;
  llvm::SetVector<memref::CopyOp> needlessCopies;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_TAKEOVER_H
