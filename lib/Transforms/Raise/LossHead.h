//===- LossHead.h - A product that is read row by row -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_LOSSHEAD_H
#define REMAT_LIB_TRANSFORMS_RAISE_LOSSHEAD_H

#include "RowShapes.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// The rows of the result of `product`: its loops that index the activations,
/// one of its operands, in their order. None if there are none, or if loops
/// index both factors and the result.
std::optional<RowShape> findRows(linalg::LinalgOp product,
                                 OpOperand *activations);

/// Why a product that looks like a loss head has to stay.
struct Refusal {
  Operation *op = nullptr;
  std::string reason;
};

/// A product whose result, the logits, is read by computations on rows that end
/// in little for each row.
class LossHead {
public:
  /// With one of the operands of `product` as activations: its rows are the
  /// rows.
  LossHead(linalg::LinalgOp product, OpOperand *activations)
      : product(product), activations(activations) {}

  /// Whether it is one. Otherwise `refusal` has a reason if it looks like one.
  bool find(Refusal &refusal);

  /// All that is computed row by row, in the order of the block.
  ArrayRef<Operation *> getOps() const { return ops; }
  bool contains(Operation *op) const { return members.contains(op); }
  /// What of it is read by others, in the order of the block.
  SmallVector<OpResult> getResults() const;
  /// What computes with these and has to come after all of it.
  SmallVector<Operation *> getOpsBehind() const;
  /// Sums over rows of what `getOps` computes, and over columns as well.
  ArrayRef<linalg::GenericOp> getSums() const { return sums; }
  /// The shapes of all its results, and how it reads what others compute.
  const RowShapes &getShapes() const { return shapes; }
  int64_t getNumRows() const { return numRows; }
  /// The sizes of the dimensions into which rows are split, the slowest first;
  /// none if tensors split them in ways that have no common one.
  std::optional<SmallVector<int64_t>> getRowSizes() const;

private:
  bool setProductShape();
  void followLogits();
  bool isWide(Value value) const;
  bool chooseMembers(Refusal &refusal);
  bool shouldAddProducer(Operation *op) const;
  bool isLarge(Value value) const;
  bool readsLarge(Operation *op) const;
  void addLossOfRows();
  void addProducers();
  bool usesOnlyMembers(Operation *op) const;

  linalg::LinalgOp product;
  OpOperand *activations;
  RowShapes shapes;
  int64_t numRows = 0;
  /// Up to so many elements for each row a result is narrow, and an operand may
  /// exist for all rows.
  int64_t maxNarrow = 0, maxKept = 0;
  /// What depends on the logits, in the order of the block; which of it does
  /// not compute by rows, and why.
  llvm::SetVector<Operation *> dependent;
  DenseMap<Operation *, std::string> reasons;
  DenseSet<Operation *> members;
  SmallVector<Operation *> ops;
  SmallVector<linalg::GenericOp> sums;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_LOSSHEAD_H
