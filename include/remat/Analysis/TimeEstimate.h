//===- TimeEstimate.h - How long operations take, roughly -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a recompute is worth the bytes that it saves is a question of the
// step's time. A compiler cannot measure it, and a plan must not depend on the
// machine that compiles, so this is a roofline with fixed constants
// (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009): an operation
// takes as long as its memory traffic or its arithmetic, whichever is longer,
// and a start.
//
// The unit is the time in which one byte goes to or from memory, so that only
// ratios are needed. They are assumed, not measured: for two cores with
// AVX-512, 15 GB/s, 80 G scalar operations/s in vectors, and products of f32 at
// 150 GFLOP/s (about what a step of `gpt` in the benchmarks comes to); for an
// H200, 4.8 TB/s and 67 TFLOP/s in f32, and half of the latter for what is no
// multiply-add. They are rounded, for products towards the GPU, which makes a
// step look short and a recompute dear.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_TIMEESTIMATE_H
#define REMAT_ANALYSIS_TIMEESTIMATE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Scalar operations of elementwise kernels and reductions in the time of a
/// byte: 5.3 and 7.0 by these figures.
inline constexpr int64_t kScalarsPerByte = 5;
/// Operations of products and convolutions in the time of a byte: 10 and 14.
inline constexpr int64_t kProductFlopsPerByte = 14;
/// The time of starting a kernel: a barrier of the threads, or a launch.
inline constexpr int64_t kStartTime = int64_t(1) << 16;

/// The scalar operations that one evaluation of the body of `op` takes. Most
/// count as one; a division or a square root as 8, what is a polynomial
/// (`remat-approximate-math`: exp, tanh, erf, ...) as 20, branches in full.
int64_t countScalars(linalg::LinalgOp op);

/// The scalar operations of all iterations of `op`, which is no product.
int64_t countAllScalars(linalg::LinalgOp op);

/// The bytes of the tensors (or buffers) that `op` reads and writes, each once.
int64_t countBytes(Operation *op);

/// Of a kernel of so many bytes and scalar operations.
int64_t estimateKernelTime(int64_t bytes, int64_t scalars);

/// Of `op`, with what is inside of it: loops as often as they run, where that
/// is known (else once), branches as the sum of theirs. Views, constants and
/// what is made of no tensor take no time.
int64_t estimateTime(Operation *op);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_TIMEESTIMATE_H
