//===- Repeats.h - Tandem repeats of a sequence -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows no IR.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_ANNOTATE_REPEATS_H
#define REMAT_TRANSFORMS_ANNOTATE_REPEATS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::remat {

/// The elements [begin, end) repeat with `period`: end - begin >= 2 * period.
struct Repeat {
  size_t begin, end, period;
  size_t size() const { return end - begin; }
};

/// Every maximal repeat of `sequence`, by period, then by position. One that
/// also has a shorter period is listed with the shortest only. O(n log^2 n) by
/// common extensions around positions that are a period apart (M. Main, R.
/// Lorentz: An O(n log n) algorithm for finding all repetitions in a string,
/// 1984), which are found on a polynomial hash and then compared.
llvm::SmallVector<Repeat> findRepeats(llvm::ArrayRef<unsigned> sequence);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_ANNOTATE_REPEATS_H
