//===- Cost.h - What operations cost ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three units, all of them estimates that do not depend on the machine that
// compiles, as a plan must not:
//  - scalar operations, each as long as an addition of numbers in a vector;
//  - bytes that go to or from memory;
//  - time, in which one byte goes to or from memory, so that only ratios are
//    needed.
//
// Whether a recompute is worth the bytes that it saves is a question of time. A
// compiler cannot measure it, so this is a roofline with fixed constants
// (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009): an operation
// takes as long as its memory traffic or its arithmetic, whichever is longer,
// and a start.
//
// The constants are assumed, not measured: for two cores with AVX-512, 15 GB/s,
// 80 G scalar operations/s in vectors, and products of f32 at 150 GFLOP/s
// (about what a step of `gpt` in the benchmarks comes to); for an H200, 4.8
// TB/s and 67 TFLOP/s in f32, and half of the latter for what is no
// multiply-add. They are rounded, for products towards the GPU, which makes a
// step look short and a recompute dear.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_COST_H
#define REMAT_ANALYSIS_COST_H

#include "remat/Analysis/RecomputeCostOpInterface.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

//===----------------------------------------------------------------------===//
// Operations that are free
//===----------------------------------------------------------------------===//

/// Returns true if `op` makes its results out of nothing: no tensor enters it.
/// Constants, fills, random draws.
bool isGenerator(Operation *op);

/// Returns true if recomputing `op`, with its operands available, costs nothing
/// that matters, so that its results are not worth a byte: views, shapes,
/// constants, arithmetic on a few numbers, and operations whose interface says
/// so. Differentiation, planning and the routing of residuals all ask this
/// function; what it takes to have the operands available is for each of them
/// to judge.
bool isFree(Operation *op);

//===----------------------------------------------------------------------===//
// In scalar operations
//===----------------------------------------------------------------------===//

/// Returns the cost of one evaluation of the body of `op`. Most operations
/// count as one; a division or a square root as 8, a polynomial
/// (`remat-approximate-math`: exp, tanh, erf, ...) as 20, branches in full.
int64_t countScalars(linalg::LinalgOp op);

/// Returns `countScalars(op)` if the body consists of arithmetic that counts as
/// one each; nullopt otherwise.
std::optional<int64_t> countCheapScalars(linalg::LinalgOp op);
inline constexpr int64_t kMaxCheapScalars = 8;

/// Returns true if recomputing the body is faster than a load from memory that
/// is not in the cache: `countCheapScalars` up to `kMaxCheapScalars`.
bool isCheap(linalg::LinalgOp op);

/// Returns the cost of recomputing the results of `op`, by its interface or by
/// default: of a structured operation, that of all iterations.
int64_t getRecomputeCost(Operation *op);

//===----------------------------------------------------------------------===//
// In bytes
//===----------------------------------------------------------------------===//

/// The bytes of the tensors (or buffers) that `op` reads and writes, each once.
int64_t countBytes(Operation *op);

//===----------------------------------------------------------------------===//
// In time
//===----------------------------------------------------------------------===//

/// Scalar operations of elementwise kernels and reductions in the time of a
/// byte: 5.3 and 7.0 by these figures.
inline constexpr int64_t kScalarsPerByte = 5;
/// Operations of products and convolutions in the time of a byte: 10 and 14.
inline constexpr int64_t kProductFlopsPerByte = 14;
/// The time of a byte that a rank sends to another one, on a link of a tenth of
/// the memory's bytes in a second.
inline constexpr int64_t kTimePerByteSent = 10;
/// The time of starting a kernel: a barrier of the threads, or a launch.
inline constexpr int64_t kStartTime = int64_t(1) << 16;

/// Of a kernel of so many bytes and scalar operations.
int64_t estimateKernelTime(int64_t bytes, int64_t scalars);

/// The bytes that each rank sends in the collective `op`, as many as in a ring;
/// 0 for any other operation.
int64_t countSentBytes(Operation *op);

/// Of `op`, with what is inside of it: loops as often as they run, where that
/// is known (else once), branches as the sum of theirs. Views, constants and
/// what is made of no tensor take no time.
int64_t estimateTime(Operation *op);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_COST_H
