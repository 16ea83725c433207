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

/// What a dimension says about the number of a row: the row r has the index
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
/// How many elements of a tensor of this shape belong to one row.
int64_t countColumns(Value tensor, ArrayRef<RowDim> shape);

/// What operations make of the rows of their operands.
class RowShapes {
public:
  /// The shape of `value`; none if it is not known to consist of rows.
  const RowShape *get(Value value) const {
    auto found = shapes.find(value);
    return found == shapes.end() ? nullptr : &found->second;
  }
  void set(Value value, RowShape shape) { shapes[value] = std::move(shape); }
  void erase(Value value) { shapes.erase(value); }

  /// Infers the shapes of the results of `op` from those of operands that have
  /// some. Otherwise says in `reason` what `op` does with the rows.
  LogicalResult inferResults(Operation *op, std::string &reason);
  /// Infers from the shape of its result that each row of it is computed from
  /// the same row of operands.
  bool canComputeByRows(Operation *op) const;

  /// The loops of `op`, of which an operand or a result has a shape.
  FailureOr<RowShape> getLoops(linalg::LinalgOp op) const;
  /// How `op`, whose result or another operand has a shape, reads `operand`.
  FailureOr<RowShape> getRead(OpOperand &operand) const;
  /// How the body of a kernel that has loops over rows reads a tensor of which
  /// it picks elements.
  FailureOr<RowShape> getPicked(tensor::ExtractOp extract) const;

private:
  DenseMap<Value, RowShape> shapes;
};

/// Whether `op` sums up numbers over all rows and is read by nothing within
/// them: the sum of each row's numbers can be taken first.
bool isSumOverRows(linalg::LinalgOp op, ArrayRef<RowDim> loops);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_ROWSHAPES_H
