//===- Patterns.h - Forms that other passes look for ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_FOLD_PATTERNS_H
#define REMAT_TRANSFORMS_FOLD_PATTERNS_H

namespace mlir {
class AffineMap;
class OpOperand;
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

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_FOLD_PATTERNS_H
