//===- ScatterRows.h - What a scatter adds as a whole -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An embedding's gradient is a row for each token: one index is computed for
// all elements of it. All targets agree here on what a row is.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_SCATTERROWS_H
#define REMAT_LIB_CONVERSION_SCATTERROWS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::remat {

struct ScatterRows {
  /// For each dimension of the table whose index is an argument of the body,
  /// and that of no other dimension, the dimension of the updates that it
  /// counts: updates at different positions in it are added to different
  /// elements.
  SmallVector<std::optional<unsigned>> ownArgument;
  /// For each dimension of the table that is added to as a whole, the dimension
  /// of the updates along it.
  SmallVector<std::optional<unsigned>> rowArgument;
  /// The other dimensions of the updates: they count the positions at which an
  /// index is computed.
  SmallVector<unsigned> outer;
  /// The values that the body computes from the arguments of rows.
  DenseSet<Value> varying;
};

ScatterRows findScatterRows(ScatterAddOp op);

/// The indices into the table that belong to `position` in the updates, by a
/// copy of the body. `mapping` takes what the body captures to the copy.
SmallVector<Value> computeScatterIndices(OpBuilder &builder, ScatterAddOp op,
                                         const ScatterRows &rows,
                                         ValueRange position,
                                         IRMapping mapping = {});

/// Returns true if the types tell that there is nothing to add, or nowhere.
bool isEmptyScatter(ScatterAddOp op);

/// An element of the updates as one of the table.
Value widenUpdate(OpBuilder &builder, ScatterAddOp op, Value element);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_SCATTERROWS_H
