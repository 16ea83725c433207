//===- PartialSums.h - Memory in which libraries split sums -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_PARTIALSUMS_H
#define REMAT_LIB_CONVERSION_CUDA_PARTIALSUMS_H

#include "remat/Dialect/Remat/IR/Sizes.h"

namespace mlir::remat {

/// Bytes of partial results for which a library has use where it computes
/// `results` results of `summands` summands each, at most `limit`; 0 if there
/// are enough results. A large GPU computes 264 tiles of results at the same
/// time; where there are fewer, a library splits the summation.
inline int64_t getPartialSumBytes(int64_t results, int64_t summands,
                                  int64_t bytesOfResult, int64_t limit) {
  constexpr int64_t kWantedTiles = 264;
  constexpr int64_t kTileElements = 128 * 128;
  // Elements of a summation that are worth a part of their own.
  constexpr int64_t kElementsPerPart = 256;
  int64_t tiles =
      llvm::divideCeil(std::max<int64_t>(results, 1), kTileElements);
  int64_t parts = std::min(kWantedTiles / tiles, summands / kElementsPerPart);
  if (parts < 2)
    return 0;
  return std::min(multiplySizes({parts, results, bytesOfResult}), limit);
}

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_PARTIALSUMS_H
