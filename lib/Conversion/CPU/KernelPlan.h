//===- KernelPlan.h - How a loop nest becomes a kernel ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which loop is vectorized, how reductions add up and what runs in
// parallel. Everything that bits depend on is decided here.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CPU_KERNELPLAN_H
#define REMAT_LIB_CONVERSION_CPU_KERNELPLAN_H

#include "../LoopNest.h"
#include "../ReductionLanes.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"

namespace mlir::remat {

/// Iterations to distribute: enough for an even load on many cores.
inline constexpr int64_t kWantedIterations = 32;

struct KernelPlan {
  /// One for each output if the reduction runs `Along` the innermost loop: it
  /// is cut into vectors, and lane i takes elements i, i + kLanes, ... In all
  /// other kernels each lane is one result.
  SmallVector<Combiner> combiners;
  /// The vectorized loop; none for a scalar kernel.
  std::optional<unsigned> vectorLoop;
  /// Iterations of it that the body takes at once; 1 if the body has no vector
  /// form. The partial results of `Along` are `kLanes` all the same.
  int64_t lanes = 1;
  /// True if iterations run strictly in order and go through memory: some
  /// output's element is written by several iterations of a parallel loop, or
  /// several elements by those of a reduction. Threads share parallel loops
  /// whose iterations write elements of their own.
  bool isSequential = false;
  /// Rows that a reduction `Across` takes at a time, if it is not 0: a vector
  /// of running results takes in so many of them before the next vector does,
  /// and waits in memory for the next rows. Memory is read in long pieces this
  /// way.
  int64_t rows = 0;
  /// The loop along which those operands lie that the vectorized loop jumps
  /// through: blocks of `kLanes` iterations of both are transposed in
  /// registers, so that each cache line is read or written once and as a whole.
  std::optional<unsigned> blockLoop;
  /// Loops distributed over threads, outermost first, and, if it is not 0, the
  /// part of the vectorized loop that is distributed as a unit.
  SmallVector<unsigned> threadLoops;
  int64_t chunk = 0;
};

KernelPlan planKernel(const LoopNest &nest);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CPU_KERNELPLAN_H
