//===- AttentionDims.h - The loops of attention -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_ATTENTIONDIMS_H
#define REMAT_DIALECT_REMAT_IR_ATTENTIONDIMS_H

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace mlir::remat {

/// The loops of `remat.attention` and `remat.attention_backward`, each list in
/// increasing order.
struct AttentionDims {
  /// Batches, heads and positions of queries.
  llvm::SmallVector<unsigned> rows;
  unsigned key = 0;
  llvm::SmallVector<unsigned> depth, columns;

  /// Rows and keys: the loops of a score, of which the body gets the indices.
  llvm::SmallVector<unsigned> getScoreDims() const {
    llvm::SmallVector<unsigned> dims(rows);
    dims.insert(std::lower_bound(dims.begin(), dims.end(), key), key);
    return dims;
  }
};

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_ATTENTIONDIMS_H
