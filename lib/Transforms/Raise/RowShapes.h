//===- RowShapes.h - Where the rows of tensors are --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A computation on rows that are independent of each other can run on some of
// them at a time. Which part of each of its tensors belongs to these follows
// from operation to operation, through transpositions and reshapes.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_RAISE_ROWSHAPES_H
#define REMAT_LIB_TRANSFORMS_RAISE_ROWSHAPES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <string>

namespace mlir::remat {

/// The relation of a dimension to the number of a row: the row r has the index
/// (r % outer) / inner. A column, which all rows have, has outer = inner = 0.
struct RowDim {
  int64_t outer = 0, inner = 0;

  bool isRow() const { return outer != 0; }
  int64_t getSize() const { return outer / inner; }
  friend bool operator==(const RowDim &a, const RowDim &b) {
    return a.outer == b.outer && a.inner == b.inner;
  }
};

/// One for each dimension of a tensor. Dimensions of size 1 are columns.
using RowShape = SmallVector<RowDim>;

/// The row dimensions of these sizes, the last one fastest.
RowShape makeRowDims(ArrayRef<int64_t> sizes);

bool hasRows(ArrayRef<RowDim> shape);
/// Returns the number of elements of a tensor of this shape that belong to one
/// row.
int64_t countColumns(Value tensor, ArrayRef<RowDim> shape);

/// Infers the shapes of results and operands from each other, by operation.
class RowShapes {
public:
  /// Returns the shape of `value`; null if it is not known to consist of rows.
  const RowShape *get(Value value) const {
    auto found = shapes.find(value);
    return found == shapes.end() ? nullptr : &found->second;
  }
  void set(Value value, RowShape shape) { shapes[value] = std::move(shape); }
  void erase(Value value) { shapes.erase(value); }

  /// Infers the shapes of the results of `op` from those of its operands that
  /// have one. On failure, sets `reason` to what `op` does with the rows.
  LogicalResult inferResults(Operation *op, std::string &reason);
  /// Returns true if `op`, whose result has a shape, computes each row of it
  /// from the same row of its operands.
  bool canComputeByRows(Operation *op) const;

  /// Returns the loops of `op`, of which an operand or a result has a shape.
  FailureOr<RowShape> getLoops(linalg::LinalgOp op) const;
  /// Returns the shape by which an operation, whose result or another operand
  /// has one, reads `operand`.
  FailureOr<RowShape> getRead(OpOperand &operand) const;
  /// Returns the shape by which the body of a kernel, which has loops over
  /// rows, reads a tensor that it extracts elements from.
  FailureOr<RowShape> getPicked(tensor::ExtractOp extract) const;

private:
  DenseMap<Value, RowShape> shapes;
};

/// Returns true if `op` is one sum over all rows whose partial sums are not
/// used: the sum of each row can be taken first.
bool isSumOverRows(linalg::LinalgOp op, ArrayRef<RowDim> loops);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_ROWSHAPES_H
