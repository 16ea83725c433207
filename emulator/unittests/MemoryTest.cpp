//===- MemoryTest.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatorTest.h"

using namespace remat::cuda;
using MemoryTest = EmulatorTest;

TEST_F(MemoryTest, AllocationsAreAlignedAndApart) {
  CUdeviceptr a = allocate(1), b = allocate(300), c = allocate(256);
  EXPECT_EQ(a % 256, 0U);
  EXPECT_EQ(b - a, 256U);
  EXPECT_EQ(c - b, 512U);
}

TEST_F(MemoryTest, NewMemoryIsPoisoned) {
  EXPECT_EQ(download(allocate(12), 3), std::vector<int>(3, -1));
}

TEST_F(MemoryTest, MemoryThatIsUsedAgainIsPoisoned) {
  CUdeviceptr first = upload({1, 2, 3});
  EXPECT_OK(cuMemFree_v2(first));
  allocations.clear();
  EXPECT_EQ(allocate(12), first);
  EXPECT_EQ(download(first, 3), std::vector<int>(3, -1));
}

TEST_F(MemoryTest, PeakCountsWhatWasAskedFor) {
  uint64_t before = remat_emu_peak_bytes();
  allocate(before + 1);
  CUdeviceptr pointer = allocate(10);
  EXPECT_EQ(remat_emu_current_bytes(), before + 11);
  EXPECT_EQ(remat_emu_peak_bytes(), before + 11);
  EXPECT_OK(cuMemFree_v2(pointer));
  allocations.pop_back();
  EXPECT_EQ(remat_emu_current_bytes(), before + 1);
  EXPECT_EQ(remat_emu_peak_bytes(), before + 11);
  size_t free = 0, total = 0;
  EXPECT_OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(total, 16777216U);
  EXPECT_EQ(free, total - before - 1);
}

TEST_F(MemoryTest, MoreThanThereIsIsAnError) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 16777217), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  allocate(16777216);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(MemoryTest, OnlyAllocationsAreFreed) {
  CUdeviceptr pointer = allocate(64);
  EXPECT_EQ(cuMemFree_v2(pointer + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemFree_v2(0));
}

TEST_F(MemoryTest, CopiesOutsideOfAllocationsAreErrors) {
  CUdeviceptr pointer = allocate(64);
  char host[65] = {};
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointer, host, 65, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, pointer + 1, 64, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(pointer + 32, pointer, 33, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(pointer, 0, 65, nullptr), CUDA_ERROR_INVALID_VALUE);
  // The device's memory is no memory of the host.
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(
                pointer, reinterpret_cast<const void *>(pointer), 1, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, HostThatTouchesDeviceMemoryEnds) {
  CUdeviceptr pointer = allocate(64);
  auto *address = reinterpret_cast<volatile int *>(pointer);
  EXPECT_EXIT((void)address[3], testing::ExitedWithCode(1),
              "the host touches device memory at allocation #[0-9]+ of 64 "
              "bytes \\+ 12");
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EXIT(address[2] = 0, testing::ExitedWithCode(1),
              "the host touches device memory");
}

TEST_F(MemoryTest, TheCallThatShallFailFails) {
  set("FAIL", "3");
  CUdeviceptr pointer = 0;
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuCtxSynchronize());
  set("FAIL", "2");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
  set("FAIL", "2:719");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_OK(cuCtxSynchronize());
}
