//===- EmulatorTest.h - A device for each test ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_UNITTESTS_EMULATOR_EMULATORTEST_H
#define REMAT_UNITTESTS_EMULATOR_EMULATORTEST_H

#include "remat/CUDA/Driver.h"
#include "remat/CUDA/EmulatedImage.h"
#include "remat/Emulator/Library.h"
#include "remat/Emulator/Thread.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <vector>

namespace remat::cuda {
#define REMAT_DECLARE(name, parameters) extern "C" CUresult name parameters;
REMAT_CUDA_DRIVER_FUNCTIONS(REMAT_DECLARE)
#undef REMAT_DECLARE

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

/// y[i] += a * x[i] for each of n elements, by one thread each.
inline void runAxpy(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  auto *y = *static_cast<int **>(arguments[0]);
  const auto *x = *static_cast<int **>(arguments[1]);
  int a = *static_cast<int *>(arguments[2]);
  int n = *static_cast<int *>(arguments[3]);
  int i = thread.blockIndex[0] * thread.blockSize[0] + thread.threadIndex[0];
  if (i < n)
    y[i] += a * x[i];
}

/// Threads below `limit` meet at a barrier.
inline void runPartialBarrier(void *const *arguments, void *record) {
  auto &thread = *static_cast<EmulatedThread *>(record);
  if (int(thread.threadIndex[0]) < *static_cast<int *>(arguments[0]))
    remat_emu_barrier(&thread, "the barrier");
}

class EmulatorTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"SEED", "ORDER", "FATAL", "FAIL", "THREADS"})
      unsetenv(("REMAT_EMULATOR_" + std::string(name)).c_str());
    setenv("REMAT_EMULATOR_MEMORY", "16777216", 1);
    ASSERT_OK(cuInit(0));
    ASSERT_OK(cuModuleLoadData(&module, &image));
    ASSERT_OK(cuModuleGetFunction(&axpy, module, "axpy"));
    ASSERT_OK(cuModuleGetFunction(&barrier, module, "barrier"));
  }
  void TearDown() override {
    set("FAIL", ""); // Also forgets errors.
    for (CUdeviceptr pointer : allocations)
      EXPECT_OK(cuMemFree_v2(pointer));
    EXPECT_EQ(remat_emu_current_bytes(), 0U);
  }

  /// Sets an option, and starts the driver again.
  static void set(const char *option, const char *value) {
    setenv(("REMAT_EMULATOR_" + std::string(option)).c_str(), value, 1);
    ASSERT_OK(cuInit(0));
  }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_OK(cuMemAlloc_v2(&pointer, bytes));
    allocations.push_back(pointer);
    return pointer;
  }
  /// An array of the device with these elements.
  CUdeviceptr upload(const std::vector<int> &values) {
    CUdeviceptr pointer = allocate(values.size() * sizeof(int));
    EXPECT_OK(cuMemcpyHtoDAsync_v2(pointer, values.data(),
                                   values.size() * sizeof(int), nullptr));
    EXPECT_OK(cuCtxSynchronize());
    return pointer;
  }
  std::vector<int> download(CUdeviceptr pointer, size_t n) {
    std::vector<int> values(n);
    EXPECT_OK(
        cuMemcpyDtoHAsync_v2(values.data(), pointer, n * sizeof(int), nullptr));
    EXPECT_OK(cuCtxSynchronize());
    return values;
  }
  CUresult launchAxpy(CUdeviceptr y, CUdeviceptr x, int a, int n,
                      CUstream stream) {
    void *arguments[] = {&y, &x, &a, &n};
    return cuLaunchKernel(axpy, (n + 31) / 32, 1, 1, 32, 1, 1, 0, stream,
                          arguments, nullptr);
  }

  CUmodule module;
  CUfunction axpy, barrier;
  std::vector<CUdeviceptr> allocations;

private:
  static constexpr EmulatedArgument kPointer = {8, EmulatedAccess::unknown, -1};
  static constexpr EmulatedArgument kInt = {4, EmulatedAccess::unknown, -1};
  static constexpr EmulatedArgument axpyArguments[] = {kPointer, kPointer, kInt,
                                                       kInt};
  static constexpr EmulatedArgument barrierArguments[] = {kInt};
  static constexpr EmulatedKernel kernels[] = {
      {"axpy", runAxpy, nullptr, 4, axpyArguments, 0, 0, 512},
      {"barrier", runPartialBarrier, nullptr, 1, barrierArguments, 1, 1024, 0}};

protected:
  static constexpr EmulatedImage image = {kEmulatedImageMagic,
                                          kEmulatedImageVersion, 2, kernels, 0};
};

} // namespace remat::cuda

#endif // REMAT_UNITTESTS_EMULATOR_EMULATORTEST_H
