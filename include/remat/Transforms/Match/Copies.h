//===- Copies.h - Kernels that only move elements ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_MATCH_COPIES_H
#define REMAT_TRANSFORMS_MATCH_COPIES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// A tensor, and where each point of an iteration space reads it.
struct Read {
  Value source;
  AffineMap map;
};

/// Returns true if `op` joins or splits dimensions and does nothing else.
bool isTensorReshape(Operation *op);

/// Returns true if all elements of `init`, from which a sum starts, are zero.
bool isZeroFilled(Value init);

/// Returns the source of each element of the result of `op`, a transposition or
/// broadcast, named or generic; nullopt if `op` is null or any other operation.
std::optional<Read> getCopied(linalg::LinalgOp op);

/// Returns the same elements read before a reshape that adds or drops
/// dimensions of size 1; nullopt if `read` does not read such a reshape.
std::optional<Read> lookThroughUnitReshape(Read read);

/// Returns true if `op` adds or drops dimensions of size 1.
bool isUnitReshape(Operation *op);

/// Returns the same elements read before transpositions, broadcasts, and
/// reshapes that add or drop dimensions of size 1.
Read lookThroughCopies(Read read);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATCH_COPIES_H
