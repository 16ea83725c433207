//===- SessionTest.h - A session on the fake driver ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_UNITTESTS_RUNTIME_CUDA_SESSIONTEST_H
#define REMAT_UNITTESTS_RUNTIME_CUDA_SESSIONTEST_H

#include "../TemporaryFolder.h"
#include "CUDA/Session.h"
#include "FakeDriver.h"

#include <cstring>

extern "C" {
void *remat_cuda_module(const void *image);
void remat_cuda_launch(const void *image, const char *name, const char *where,
                       int64_t gridX, int64_t gridY, int64_t gridZ,
                       int64_t blockX, int64_t blockY, int64_t blockZ,
                       int64_t sharedBytes, int64_t numArguments,
                       const char *kinds, const uint64_t *values);
void remat_cuda_read(void *to, const void *from, int64_t bytes);
void remat_cuda_write(void *to, const void *from, int64_t bytes);
void remat_cuda_copy(void *to, const void *from, int64_t bytes);
void *remat_cuda_constant(const void *host, int64_t bytes);
void *remat_cuda_alloc(int64_t bytes);
void remat_cuda_free(void *pointer);
void remat_cuda_assert(const void *condition, const char *message,
                       const char *where);
}

namespace remat::cuda {

/// Kernels: `add` adds the f32 at its second argument to the one at its first,
/// `set` stores the 4 bytes of its second argument at its first, `copy16`
/// copies 16 bytes.
class SessionTest : public TemporaryFolder {
protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    driver = FakeDriver();
    driver.kernels["add"] = {2, [](const FakeLaunch &launch) {
                               *FakeDriver::at<float>(launch.arguments[0]) +=
                                   *FakeDriver::at<float>(launch.arguments[1]);
                             }};
    driver.kernels["set"] = {2, [](const FakeLaunch &launch) {
                               *FakeDriver::at<uint32_t>(launch.arguments[0]) =
                                   static_cast<uint32_t>(launch.arguments[1]);
                             }};
    driver.kernels["copy16"] = {
        2, [](const FakeLaunch &launch) {
          std::copy_n(FakeDriver::at<char>(launch.arguments[1]), 16,
                      FakeDriver::at<char>(launch.arguments[0]));
        }};
    start();
  }
  void TearDown() override {
    setSession(nullptr);
    EXPECT_TRUE(driver.allocations.empty());
    TemporaryFolder::TearDown();
  }
  void start() { setSession(std::make_unique<Session>(FakeDriver::table())); }

  static void launch(const char *name, const char *kinds,
                     std::vector<uint64_t> values, int64_t grid = 1) {
    remat_cuda_launch(&image, name, "m.mlir:1:2", grid, 1, 1, 32, 1, 1, 0,
                      int64_t(values.size()), kinds, values.data());
  }
  static uint64_t bits(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    return word;
  }
  CUdeviceptr allocate(size_t bytes) {
    return session().memory.allocateZeroed(MemoryClass::other, bytes, "test");
  }
  using TemporaryFolder::read;
  template <typename T> static T read(CUdeviceptr from) {
    T value;
    remat_cuda_read(&value, toPointer(from), sizeof(T));
    return value;
  }
  static void *toPointer(CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  }
  static const SegmentCounts &counts() {
    return session().segments.getCounts();
  }

  static inline const uint64_t image = 0;
  FakeDriver &driver = FakeDriver::get();
};

} // namespace remat::cuda

#endif // REMAT_UNITTESTS_RUNTIME_CUDA_SESSIONTEST_H
