//===- RuntimeMemory.h - What the runtime keeps there -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that the compiler predicts and the runtime allocates.
//===----------------------------------------------------------------------===//

#ifndef REMAT_CUDA_RUNTIMEMEMORY_H
#define REMAT_CUDA_RUNTIMEMEMORY_H

#include <cstdint>

namespace remat::cuda {

/// Scalars that change from step to step, for the kernels of a segment.
constexpr int64_t kStepBlockBytes = 32 << 10;
constexpr int64_t kStepSlotBytes = 16;

/// A row keeps a loss (or a result of the evaluation) and the assertions of the
/// step until the host fetches them. The first row is the current step's.
constexpr int64_t kScalarBytes = 16;
constexpr int64_t kRowBytes = 1024;
constexpr int64_t kNumRows = 64;

/// Of each data argument: the batch that a step reads, and the next one.
constexpr int64_t kDataSlots = 2;

/// Memory class `runtime`, allocated once.
constexpr int64_t kRuntimeBytes = kStepBlockBytes + (1 + kNumRows) * kRowBytes;

/// Memory class `other`, allocated with the first product of a program that
/// reserves no workspace.
constexpr int64_t kDefaultWorkspaceBytes = 32 << 20;

/// The least and the largest workspace of a convolution. Its size is a function
/// of the convolution's shape (see CuDNNConvolution.h), and the program
/// reserves it in the arena.
constexpr int64_t kMinConvWorkspaceBytes = 1 << 20;
constexpr int64_t kMaxConvWorkspaceBytes = 32 << 20;

} // namespace remat::cuda

#endif // REMAT_CUDA_RUNTIMEMEMORY_H
