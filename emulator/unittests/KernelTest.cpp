//===- KernelTest.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatorTest.h"

#include <cstring>

using namespace remat::cuda;
using KernelTest = EmulatorTest;

TEST_F(KernelTest, OnlyImagesOfTheEmulatorAreLoaded) {
  CUmodule other;
  EmulatedImage wrong = image;
  wrong.version = kEmulatedImageVersion + 1;
  EXPECT_EQ(cuModuleLoadData(&other, &wrong), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&other, "\x50\xed\x55\xba a fatbin "),
            CUDA_ERROR_INVALID_IMAGE);
  CUfunction function;
  EXPECT_EQ(cuModuleGetFunction(&function, module, "nothing"),
            CUDA_ERROR_NOT_FOUND);
}

TEST_F(KernelTest, LaunchesBeyondTheLimitsAreErrors) {
  int limit = 0;
  void *arguments[] = {&limit};
  auto launch = [&](unsigned gridX, unsigned gridY, unsigned blockX,
                    unsigned blockZ, unsigned bytes) {
    return cuLaunchKernel(barrier, gridX, gridY, 1, blockX, 1, blockZ, bytes,
                          nullptr, arguments, nullptr);
  };
  EXPECT_OK(launch(1, 1, 1024, 1, 0));
  EXPECT_OK(launch(1, 65535, 1, 1, 0));
  EXPECT_EQ(launch(0, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 65536, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 512, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
  // The kernel has 1 KiB itself.
  EXPECT_OK(launch(1, 1, 1, 1, 47 << 10));
  EXPECT_EQ(launch(1, 1, 1, 1, (47 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(barrier,
                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               227 << 10),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuFuncSetAttribute(
      barrier, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 226 << 10));
  EXPECT_OK(launch(1, 1, 1, 1, 226 << 10));
  // nvvm.maxntid.
  CUdeviceptr pointer = 0;
  int n = 0;
  void *values[] = {&pointer, &pointer, &n, &n};
  EXPECT_EQ(
      cuLaunchKernel(axpy, 1, 1, 1, 513, 1, 1, 0, nullptr, values, nullptr),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(KernelTest, AnErrorInAKernelStays) {
  set("FATAL", "0");
  int limit = 3;
  void *arguments[] = {&limit};
  EXPECT_OK(cuLaunchKernel(barrier, 1, 1, 1, 8, 1, 1, 0, nullptr, arguments,
                           nullptr));
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "remat: error: emulator: kernel 'barrier': divergent barrier: 3 "
            "threads of block (0, 0, 0) wait at the barrier, but thread (3, 0, "
            "0) of block (0, 0, 0) is done (5 threads are)\n");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  CUdeviceptr pointer;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(KernelTest, AnErrorInAKernelEndsTheProcess) {
  int limit = 3;
  void *arguments[] = {&limit};
  EXPECT_OK(cuLaunchKernel(barrier, 1, 1, 1, 8, 1, 1, 0, nullptr, arguments,
                           nullptr));
  EXPECT_EXIT(cuCtxSynchronize(), testing::ExitedWithCode(1),
              "divergent barrier");
  set("FATAL", "0");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Each lane's value is 100 + lane. Stores what a shuffle gives, and whether
/// its source was in range.
static void runShuffle(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *results = *static_cast<uint64_t **>(arguments[0]);
  auto *how = static_cast<int *>(arguments[1]);
  unsigned lane = thread.threadIndex[0];
  results[lane] = remat_emu_shuffle(record, how[0], 0xFFFFFFFF, 100 + lane,
                                    how[1], how[2], "the shuffle");
}

static void runVotes(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *results = *static_cast<uint64_t **>(arguments[0]);
  unsigned lane = thread.threadIndex[0];
  uint64_t value = 0;
  for (int kind = 0; kind < 4; ++kind)
    value = value << 8 |
            (remat_emu_vote(record, kind, 0xFFFFFFFF, lane % 3 == 0, "a vote") &
             0xFF);
  results[lane] =
      value << 16 | remat_emu_reduce(record, int(EmulatedReduction::add),
                                     0xFFFFFFFF, lane, "a sum");
}

static uint16_t toBF16(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits >> 16;
}

namespace {
class WarpTest : public EmulatorTest {
protected:
  std::vector<uint64_t> run(void (*kernel)(void *const *, void *),
                            std::array<int, 3> how = {}) {
    EmulatedArgument arguments[] = {{8, EmulatedAccess::unknown, -1},
                                    {12, EmulatedAccess::unknown, -1}};
    EmulatedKernel kernels[] = {
        {"warp", kernel, nullptr, 2, arguments, 1, 0, 0}};
    EmulatedImage own = {kEmulatedImageMagic, kEmulatedImageVersion, 1, kernels,
                         0};
    CUmodule loaded;
    CUfunction function;
    EXPECT_OK(cuModuleLoadData(&loaded, &own));
    EXPECT_OK(cuModuleGetFunction(&function, loaded, "warp"));
    CUdeviceptr to = allocate(32 * sizeof(uint64_t));
    void *values[] = {&to, &how};
    EXPECT_OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, values,
                             nullptr));
    std::vector<uint64_t> results(32);
    EXPECT_OK(cuMemcpyDtoHAsync_v2(results.data(), to, 256, nullptr));
    EXPECT_OK(cuModuleUnload(loaded));
    return results;
  }
};
} // namespace

/// `width` as CUDA's __shfl_*_sync take it: segments of so many lanes.
static int getClamp(int width, bool isUp) {
  return (32 - width) << 8 | (isUp ? 0 : 31);
}

TEST_F(WarpTest, ShufflesFollowCuda) {
  for (int width : {32, 16, 8, 2})
    for (int offset = 0; offset < width; ++offset)
      for (int kind = 0; kind < 4; ++kind) {
        bool isUp = kind == int(EmulatedShuffle::up);
        std::vector<uint64_t> results =
            run(runShuffle, {kind, offset, getClamp(width, isUp)});
        for (int lane = 0; lane < 32; ++lane) {
          int in = lane % width, first = lane - in;
          int source = isUp                                 ? in - offset
                       : kind == int(EmulatedShuffle::down) ? in + offset
                       : kind == int(EmulatedShuffle::bfly) ? in ^ offset
                                                            : offset;
          bool isValid = source >= 0 && source < width;
          uint64_t value = 100 + (isValid ? first + source : lane);
          EXPECT_EQ(results[lane], value | uint64_t(isValid) << 32)
              << "kind " << kind << " width " << width << " offset " << offset
              << " lane " << lane;
        }
      }
}

TEST_F(WarpTest, VotesAndSums) {
  // any, all, ballot (its low byte), uni; the sum of 0...31.
  uint64_t expected = uint64_t(0x01004900) << 16 | 496;
  EXPECT_EQ(run(runVotes), std::vector<uint64_t>(32, expected));
  set("ORDER", "random");
  EXPECT_EQ(run(runVotes), std::vector<uint64_t>(32, expected));
}

/// Element (i, k) of the left matrix, and (k, j) of the right one: small
/// integers, as bits of bf16.
static uint16_t getLeft(unsigned i, unsigned k) {
  return toBF16(float(i + 2 * k) - 16);
}
static uint16_t getRight(unsigned k, unsigned j) {
  return toBF16(float(3 * j) - float(k));
}

/// Registers as PTX describes those of mma.m16n8k16; sums from lane + i on.
static void runProduct(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *results = *static_cast<uint64_t **>(arguments[0]);
  unsigned lane = thread.threadIndex[0], group = lane / 4, pair = lane % 4 * 2;
  auto pack = [](uint16_t low, uint16_t high) {
    return uint32_t(high) << 16 | low;
  };
  auto left = [&](unsigned i, unsigned k) {
    return pack(getLeft(i, k), getLeft(i, k + 1));
  };
  auto right = [&](unsigned k) {
    return pack(getRight(k, group), getRight(k + 1, group));
  };
  uint32_t factors[] = {left(group, pair),     left(group + 8, pair),
                        left(group, pair + 8), left(group + 8, pair + 8),
                        right(pair),           right(pair + 8)};
  float sums[] = {0, 1, 2, 3};
  remat_emu_mma(record, int(EmulatedFactor::bf16), factors, sums, "a product");
  // The four sums are integers of less than 16 bits.
  results[lane] = 0;
  for (unsigned i = 0; i < 4; ++i)
    results[lane] |= uint64_t(uint16_t(int16_t(sums[i]))) << 16 * i;
}

TEST_F(WarpTest, ProductsOfMatrices) {
  auto sum = [](unsigned i, unsigned j) {
    int total = 0;
    for (int k = 0; k < 16; ++k)
      total += (int(i) + 2 * k - 16) * (3 * int(j) - k);
    return total;
  };
  for (const char *order : {"forward", "random"}) {
    set("ORDER", order);
    std::vector<uint64_t> results = run(runProduct);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(int16_t(results[lane] >> 16 * i),
                  sum(lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2) + int(i))
            << "lane " << lane << " sum " << i;
  }
}

/// Stores the offsets of each lane's elements of the last and the first of four
/// matrices, in units of 16 bits from the first row; rows are contiguous.
/// `how`: whether the matrices are transposed, and an offset of the first row.
static void runMatrixLoad(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *results = *static_cast<uint64_t **>(arguments[0]);
  auto *how = static_cast<int *>(arguments[1]);
  unsigned lane = thread.threadIndex[0];
  auto *first = reinterpret_cast<const char *>(uintptr_t(1) << 20);
  const void *addresses[8];
  remat_emu_ldmatrix(record, first + 16 * lane + how[1], 4, how[0], addresses,
                     "a load");
  auto at = [&](unsigned i) {
    return uint64_t(static_cast<const char *>(addresses[i]) - first) / 2;
  };
  // The last matrix's, and the first one's.
  results[lane] =
      how[0] ? at(7) << 32 | at(6) << 16 | at(0) : at(3) << 32 | at(0);
}

TEST_F(WarpTest, LoadsOfMatrices) {
  std::vector<uint64_t> plain = run(runMatrixLoad, {0, 0}),
                        transposed = run(runMatrixLoad, {1, 0});
  for (uint64_t lane = 0; lane < 32; ++lane) {
    uint64_t row = lane / 4, pair = lane % 4 * 2;
    EXPECT_EQ(plain[lane], (8 * (24 + row) + pair) << 32 | (8 * row + pair));
    EXPECT_EQ(transposed[lane], (8 * (24 + pair + 1) + row) << 32 |
                                    (8 * (24 + pair) + row) << 16 |
                                    (8 * pair + row));
  }
}

TEST_F(WarpTest, RowsOfMatricesAreAligned) {
  EXPECT_EXIT(run(runMatrixLoad, {0, 2}), testing::ExitedWithCode(1),
              "gives a load a row that is not aligned to 16 bytes");
}

/// Two groups of copies, of which the second one copies 4 of 16 bytes; what is
/// there before each wait, and after it. `how`: an offset of the first address.
static void runCopies(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *results = *static_cast<uint64_t **>(arguments[0]);
  auto *how = static_cast<int *>(arguments[1]);
  alignas(16) uint32_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(16) uint32_t to[12] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
  remat_emu_copy_async(record, to + how[0], from, 16, 16, "a copy");
  remat_emu_commit_copies(record);
  remat_emu_copy_async(record, to + 4, from + 4, 16, 4, "a copy");
  remat_emu_commit_copies(record);
  uint64_t seen = to[3];
  remat_emu_wait_for_copies(record, 1);
  seen = seen << 8 | to[3];
  seen = seen << 8 | to[4];
  remat_emu_wait_for_copies(record, 0);
  seen = seen << 8 | to[4];
  seen = seen << 8 | to[5];
  results[thread.threadIndex[0]] = seen;
}

TEST_F(WarpTest, CopiesAreDoneWhenTheThreadWaits) {
  for (uint64_t seen : run(runCopies, {0, 0}))
    EXPECT_EQ(seen, 0x0904090500u);
}

TEST_F(WarpTest, CopiesAreAligned) {
  EXPECT_EXIT(run(runCopies, {2, 0}), testing::ExitedWithCode(1),
              "gives a copy an address that is not aligned to 16 bytes");
}

/// Writes the number of the call to the block's element.
static void runOrder(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *results = *static_cast<uint64_t **>(arguments[0]);
  static uint64_t number = 0;
  results[thread.threadIndex[0]] = number++;
}

TEST_F(WarpTest, ThreadsRunInTheOrderThatIsAskedFor) {
  std::vector<uint64_t> forward = run(runOrder);
  set("ORDER", "backward");
  std::vector<uint64_t> backward = run(runOrder);
  for (int i = 0; i + 1 < 32; ++i) {
    EXPECT_LT(forward[i], forward[i + 1]);
    EXPECT_GT(backward[i], backward[i + 1]);
  }
}
