//===- LossHead.h - A product that is read row by row -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_LOSSHEAD_H
#define REMAT_LIB_TRANSFORMS_RAISE_LOSSHEAD_H

#include "RowShapes.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Returns the rows of the result of `product`: its loops that index the
/// activations, one of its operands, in their order. Returns std::nullopt if
/// there is no such loop, or if one indexes both factors and the result.
std::optional<RowShape> findRows(linalg::LinalgOp product,
                                 OpOperand *activations);

/// The reason why a product that looks like a loss head has to stay.
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

  /// Returns true if the product starts a loss head, and finds its operations.
  /// Otherwise sets `refusal` if it looks like one.
  bool find(Refusal &refusal);

  /// Operations that are computed row by row, in the order of the block.
  ArrayRef<Operation *> getOps() const { return ops; }
  bool contains(Operation *op) const { return members.contains(op); }
  /// Returns the results that other operations use, in the order of the block.
  SmallVector<OpResult> getResults() const;
  /// Returns the other operations before the end of `getOps` that depend on the
  /// logits, and so have to move after all of them.
  SmallVector<Operation *> getOpsBehind() const;
  /// Sums over rows, and perhaps columns, of results of `getOps`.
  ArrayRef<linalg::GenericOp> getSums() const { return sums; }
  /// The shapes of all its results, and of operands that it reads by rows.
  const RowShapes &getShapes() const { return shapes; }
  int64_t getNumRows() const { return numRows; }
  /// Returns the sizes of the dimensions into which rows are split, the slowest
  /// first; std::nullopt if tensors split them in incompatible ways.
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
  /// Operations that depend on the logits, in the order of the block, and the
  /// reasons why some of them do not compute by rows.
  llvm::SetVector<Operation *> dependent;
  DenseMap<Operation *, std::string> reasons;
  DenseSet<Operation *> members;
  SmallVector<Operation *> ops;
  SmallVector<linalg::GenericOp> sums;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_LOSSHEAD_H
