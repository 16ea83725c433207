//===- GridPlan.h - How a loop nest becomes a grid of threads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what one thread computes. The only thing here that bits depend on is
// how many partial results a reduction has, which follows from the shape of the
// operation alone.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_GRIDPLAN_H
#define REMAT_LIB_CONVERSION_CUDA_GRIDPLAN_H

#include "../KernelBody.h"

#include "remat/Dialect/Remat/IR/ReductionOrder.h"

namespace mlir::remat {

/// Two loops that a block takes in squares, because the outputs are contiguous
/// in one of them and inputs in the other.
struct TransposeTile {
  static constexpr int64_t kSize = 32;

  unsigned outLoop = 0, inLoop = 0;
  /// Accesses that go through workgroup memory.
  SmallVector<unsigned> inputs;
};

struct GridPlan {
  /// Loops that the grid is made of, the fastest one last. Every other loop
  /// runs in each thread, in order.
  SmallVector<unsigned> gridLoops;
  /// Iterations of the last one of these that a thread takes at once; where
  /// neighbouring threads are lanes, of the innermost loop that is not in the
  /// grid.
  Lanes vector;
  std::optional<TransposeTile> tile;
  /// True if iterations go through memory, because several of them write one
  /// element.
  bool isInOrder = false;

  /// One for each of the outputs `reduced` if these are reduced in partial
  /// results: by `lanes` threads, each of which has one or a vector of them.
  /// Of n, partial result p has the elements p, p + n, ... of the reduction
  /// loops, counted in their order.
  SmallVector<Combiner> combiners;
  SmallVector<unsigned> reduced;
  /// The other outputs: each iteration stores an element of its own.
  SmallVector<unsigned> mapped;
  int64_t lanes = 1;
  /// True if neighbouring threads are lanes of one result, else they are
  /// results.
  bool lanesAreNeighbours = true;

  int64_t blockSize = 0;
  /// Neighbouring results of a thread.
  int64_t resultsPerThread() const {
    return vector.loop && llvm::is_contained(gridLoops, *vector.loop)
               ? vector.count
               : 1;
  }
  /// Points of the grid (results) that a block takes, of `lanes` threads each.
  int64_t pointsPerBlock() const { return blockSize / lanes; }
};

/// `blockSize`: threads of a block, if a result does not need more.
GridPlan planGrid(const LoopNest &nest, int64_t blockSize);

/// The plan as a part of a kernel that goes through rows, which are the
/// iterations of the first `rowDims` dimensions and the points of the grid: the
/// other loops are for the lanes of a row. An operation without a reduction has
/// one lane then, and can have any number. None if it needs a kernel of its
/// own.
std::optional<GridPlan> planRows(const LoopNest &nest, unsigned rowDims,
                                 int64_t blockSize);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_GRIDPLAN_H
