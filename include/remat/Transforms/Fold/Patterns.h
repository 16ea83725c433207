//===- Patterns.h - Forms that other passes look for ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_FOLD_PATTERNS_H
#define REMAT_TRANSFORMS_FOLD_PATTERNS_H

#include "remat/Transforms/Match/Copies.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir {
class RewritePatternSet;
namespace remat {

/// Makes reshapes that move dimensions of size 1, by way of fewer dimensions,
/// ones that drop and add them, which passes read through.
void populateSplitUnitReshapePatterns(RewritePatternSet &patterns);
/// Those by which `remat-fold` folds transpositions.
void populateFoldTransposesPatterns(RewritePatternSet &patterns);
/// Returns whether these make a product read the source of a copy by `map` in
/// place of that copy, which is `use`.
bool readsInPlace(OpOperand &use, AffineMap map);
/// Returns the elements of `slice`, which is one of a transposed tensor, in a
/// slice of the tensor that is transposed; nullopt if it is not.
std::optional<Read> sliceBeforeTranspose(OpBuilder &builder,
                                         tensor::ExtractSliceOp slice);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_FOLD_PATTERNS_H
