//===- RuntimeMemory.h - What the CUDA runtime keeps on the device -*- C++
//-*-===//
//
// Sizes that do not depend on the program. The compiler adds them to the peak
// that it predicts; the runtime allocates exactly these.
//
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

/// Memory class `runtime`, allocated once.
constexpr int64_t kRuntimeBytes = kStepBlockBytes + (1 + kNumRows) * kRowBytes;

/// Memory class `other`, allocated with the first product of a program that
/// reserves no workspace.
constexpr int64_t kDefaultWorkspaceBytes = 32 << 20;

/// What each convolution may use while it runs. A program reserves it, so that
/// it is in the arena. Deterministic gradients of filters keep partial sums
/// there: those of 512 x 512 filters of 3 x 3 take 9 MiB each in f32.
constexpr int64_t kConvWorkspaceBytes = 32 << 20;

} // namespace remat::cuda

#endif // REMAT_CUDA_RUNTIMEMEMORY_H
