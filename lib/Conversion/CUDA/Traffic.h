//===- Traffic.h - Bytes that a kernel moves --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel costs on a GPU can be counted where none is.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_TRAFFIC_H
#define REMAT_LIB_CONVERSION_CUDA_TRAFFIC_H

#include "GridPlan.h"

namespace mlir::remat {

/// Bytes of one launch by way of one argument, in one direction.
struct Traffic {
  /// The bytes that stay cached until blocks need them once more: a third of
  /// the cache of an H200.
  static constexpr int64_t kCached = int64_t(16) << 20;

  /// Of all elements that the operation needs, each counted once.
  int64_t least = 0;
  /// Of all loads or stores of all threads; not known of reductions, whose idle
  /// threads do something, too.
  std::optional<int64_t> accessed = 0;
  /// Of the 32-byte sectors that warps ask memory for. What several warps ask
  /// for counts once if all of it fits into the cache of the chip.
  int64_t moved = 0;
};

/// Bytes of the elements that loops of these sizes and strides meet, and of the
/// sectors in which they are.
std::pair<int64_t, int64_t> measureMemory(ArrayRef<int64_t> sizes,
                                          ArrayRef<int64_t> strides,
                                          int64_t elementBytes);

/// None where sizes or strides are not known.
std::optional<Traffic> countTraffic(const LoopNest &nest, const GridPlan &plan,
                                    unsigned access);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_TRAFFIC_H
