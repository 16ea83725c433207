//===- KernelPlan.h - How a loop nest becomes a kernel ----------*- C++ -*-===//
//
// Decides which loop is vectorized, how reductions add up and what runs in
// parallel. Everything that bits depend on is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_KERNELPLAN_H
#define REMAT_LIB_CONVERSION_KERNELPLAN_H

#include "LoopNest.h"

namespace mlir::remat {

/// Lanes of a vector. A constant of the project and not of the machine, because
/// a reduction along a vector has as many partial results: 16 floats fill an
/// AVX-512 register; on narrower machines LLVM makes several of one.
constexpr int64_t kLanes = 16;

/// How the elements of a reduction are combined:
///  - `Across`: each lane is one result, which takes its elements one by one in
///    the order of the reduction loops;
///  - `Along`: the innermost reduction loop is cut into vectors; lane i takes
///    elements i, i + kLanes, ..., then lanes are combined pairwise (i with
///    i + 8, 4, 2, 1), and the initial value last.
/// Which of the two: `Along` if the innermost dimension of the op (of more than
/// one iteration) is a reduction, every result is combined by one associative
/// op, and the op is neither a matrix product nor a convolution. Neither
/// operands, nor fused producers, nor threads have a say.
enum class ReductionOrder { Across, Along };

/// What one iteration of the op's body combines into an output, for `Along`.
struct Combiner {
  Operation *op;
  TypedAttr neutral;
};

struct KernelPlan {
  ReductionOrder order = ReductionOrder::Across;
  /// One for each output if the order is `Along`.
  SmallVector<Combiner> combiners;
  /// The vectorized loop; none for a scalar kernel.
  std::optional<unsigned> vectorLoop;
  int64_t lanes = 1;
  /// Whether iterations run strictly in order and go through memory: some
  /// output's element is written by several iterations of a parallel loop, or
  /// several elements by those of a reduction.
  bool isSequential = false;
  /// Loops distributed over threads, outermost first, and, if it is not 0, the
  /// part of the vectorized loop that is distributed as a unit.
  SmallVector<unsigned> threadLoops;
  int64_t chunk = 0;
};

KernelPlan planKernel(const LoopNest &nest);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_KERNELPLAN_H
