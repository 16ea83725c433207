//===- ReductionLanes.h - How a sum is split --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers that the bits of sums depend on. They follow from the shape of
// the operation and its fixed order: never from layouts, chips or launches.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_REDUCTIONLANES_H
#define REMAT_LIB_CONVERSION_REDUCTIONLANES_H

#include "remat/Dialect/Remat/IR/ReductionOrder.h"

namespace mlir::remat {

/// Lanes of a vector on a CPU. A constant of the project and not of the
/// machine, because a reduction along a vector has as many partial results: 16
/// floats fill an AVX-512 register; on narrower machines LLVM makes several of
/// one.
inline constexpr int64_t kLanes = 16;

inline constexpr int64_t kMaxBlockSize = 1024;
/// Results that are few: fewer do not fill a sector of 32 bytes.
inline constexpr int64_t kFewResults = 8;

/// Partial results that one thread of a GPU may have side by side, so that it
/// loads as many neighbours at once: a power of two, or 1.
int64_t getVectorLanes(ReductionOrder order, int64_t elements);

/// How many partial results a kernel on a GPU has for each of `results` results
/// that combine `elements` elements each: lane l has the elements l, l + lanes,
/// ... Neighbouring lanes are combined first: l and l + 1, of each two such
/// results the first and the third, and so on.
int64_t countLanes(ReductionOrder order, int64_t elements, int64_t results);

/// How one loop is cut into chunks: `chunks` of `size` iterations each, and
/// `rest` iterations, fewer than `size`, that belong to none.
struct LoopChunks {
  int64_t chunks = 1, size = 0, rest = 0;

  /// Returns true if each iteration is a chunk.
  bool isWhole() const { return size == 1 && rest == 0; }
  bool isSplit() const { return chunks > 1 && !isWhole(); }
};

/// How each of the reduction loops of the given sizes, from the outermost on,
/// is cut, so that a kernel of its own reduces each chunk. Empty if one kernel
/// has enough threads or too little to do.
SmallVector<LoopChunks> planChunks(ReductionOrder order,
                                   ArrayRef<int64_t> reductionSizes,
                                   int64_t results);

/// The same on a CPU, where one partial result should not add up more than
/// `maxChain` elements one after the other: rounding errors grow with these.
/// Empty if it does not.
SmallVector<LoopChunks> planChains(ReductionOrder order,
                                   ArrayRef<int64_t> reductionSizes,
                                   int64_t maxChain);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_REDUCTIONLANES_H
