//===- Thread.h - What an emulated thread knows -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `remat-emulate-kernels` gives each function of a kernel a last argument, the
// record of the thread that runs it: special registers are read from it, and
// every call of the emulator (`remat_emu_*`) passes it on. The pass emits loads
// at these offsets.
//===----------------------------------------------------------------------===//

#ifndef REMAT_EMULATOR_THREAD_H
#define REMAT_EMULATOR_THREAD_H

#include <cstddef>
#include <cstdint>

namespace remat::cuda {

struct EmulatedThread {
  /// x, y, z of threadIdx, blockDim, blockIdx and gridDim.
  uint32_t threadIndex[3];
  uint32_t blockSize[3];
  uint32_t blockIndex[3];
  uint32_t gridSize[3];
  /// The block's workgroup memory: what the kernel declares, then what the
  /// launch adds.
  char *shared;
  char *dynamicShared;
};

static_assert(offsetof(EmulatedThread, blockSize) == 12 &&
                  offsetof(EmulatedThread, blockIndex) == 24 &&
                  offsetof(EmulatedThread, gridSize) == 36 &&
                  offsetof(EmulatedThread, shared) == 48 &&
                  offsetof(EmulatedThread, dynamicShared) == 56,
              "compiled kernels read the record at these offsets");

/// Threads in a warp.
constexpr uint32_t kWarpSize = 32;
/// Alignment of workgroup memory, of each variable in it, and of the dynamic
/// part.
constexpr int64_t kSharedAlignment = 16;

/// Kinds of `remat_emu_access`.
enum class EmulatedAccessKind : int32_t { read = 0, write = 1, atomic = 2 };
/// Kinds of `remat_emu_shuffle`, as `#nvvm<shfl_kind>` numbers them.
enum class EmulatedShuffle : int32_t { bfly = 0, up = 1, down = 2, idx = 3 };
/// Kinds of `remat_emu_vote`, as `nvvm.vote.sync` numbers them.
enum class EmulatedVote : int32_t { any = 0, all = 1, ballot = 2, uni = 3 };
/// Kinds of `remat_emu_reduce`, as `#nvvm<redux_kind>` numbers them.
enum class EmulatedReduction : int32_t {
  add = 1,
  bitAnd = 2,
  max = 3,
  min = 4,
  bitOr = 5,
  umax = 6,
  umin = 7,
  bitXor = 8
};

/// Types of factors of `remat_emu_mma`.
enum class EmulatedFactor : int32_t { f16 = 0, bf16 = 1, tf32 = 2 };
/// Registers of a lane in `mma.sync.m16n8k16`, of which each has two factors,
/// or m16n8k8 of tf32, with sums of f32: of the left and the right matrix, and
/// of sums.
constexpr unsigned kMmaLeft = 4, kMmaRight = 2, kMmaSums = 4;

} // namespace remat::cuda

/// Functions that compiled kernels call. `site` names the operation; every
/// barrier and every warp operation has a site of its own.
extern "C" {
void remat_emu_barrier(void *thread, const char *site);
void remat_emu_warp_barrier(void *thread, uint32_t mask, const char *site);
/// The value, and in bit 32 whether the source lane was in range.
uint64_t remat_emu_shuffle(void *thread, int32_t kind, uint32_t mask,
                           uint32_t value, uint32_t offset,
                           uint32_t maskAndClamp, const char *site);
uint32_t remat_emu_vote(void *thread, int32_t kind, uint32_t mask,
                        uint32_t predicate, const char *site);
uint32_t remat_emu_reduce(void *thread, int32_t kind, uint32_t mask,
                          uint32_t value, const char *site);
/// The lane's pairs of factors, left ones first, and its sums, which the
/// products are added to. Each product is exact, and added with one rounding,
/// the first one first; PTX leaves the order and the rounding to the processor.
void remat_emu_mma(void *thread, int32_t type, const uint32_t *factors,
                   float *sums, const char *site);
/// `row` is a row of 16 bytes of one of the `count` matrices. Tells where the
/// lane finds its elements: for each matrix one address of two neighbours, or
/// two addresses if it is transposed.
void remat_emu_ldmatrix(void *thread, const void *row, int32_t count,
                        int32_t isTransposed, const void **addresses,
                        const char *site);
/// `cp.async` of `bytes`, of which those from `sourceBytes` on become zero. It
/// is done as late as PTX allows: when the thread waits for its group. It waits
/// for all groups but the `pending` newest ones.
void remat_emu_copy_async(void *thread, void *to, const void *from,
                          int32_t bytes, int32_t sourceBytes, const char *site);
void remat_emu_commit_copies(void *thread);
void remat_emu_wait_for_copies(void *thread, int32_t pending);
/// Precedes every access of an instrumented kernel.
void remat_emu_access(void *thread, const void *pointer, int64_t bytes,
                      int64_t alignment, int32_t kind, const char *site);
/// The same for a vector of which only the lanes in `mask` are accessed.
void remat_emu_access_masked(void *thread, const void *pointer,
                             int64_t laneBytes, uint64_t mask,
                             int64_t alignment, int32_t kind, const char *site);
void remat_emu_assert_fail(void *thread, const char *message, const char *file,
                           uint32_t line, const char *function);
/// Functions of libdevice that the C library does not have.
double remat_emu_rsqrt(double value);
float remat_emu_rsqrtf(float value);
double remat_emu_powi(double value, int32_t exponent);
float remat_emu_powif(float value, int32_t exponent);
}

#endif // REMAT_EMULATOR_THREAD_H
