//===- FakeDriver.h - A driver that records and runs late ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work on the stream runs when somebody waits for it, not earlier: pinned
// memory that changed too soon, or a result that was read too soon, shows.
// Addresses of the device fault on the host. Kernels are functions of the test.
//===----------------------------------------------------------------------===//

#ifndef REMAT_UNITTESTS_RUNTIME_CUDA_FAKEDRIVER_H
#define REMAT_UNITTESTS_RUNTIME_CUDA_FAKEDRIVER_H

#include "CUDA/DriverLibrary.h"

#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace remat::cuda {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3], sharedBytes;
  std::vector<uint64_t> arguments;
};

struct FakeKernel {
  size_t numArguments;
  std::function<void(const FakeLaunch &)> run;
  int staticSharedBytes = 0;
};

using FakeWork = std::function<void()>;

struct FakeDriver {
  /// The one that the table's functions work on.
  static FakeDriver &get();
  static Driver table();

  /// The host's address of what the device calls `address`.
  template <typename T> static T *at(uint64_t address) {
    return reinterpret_cast<T *>(address - deviceOffset);
  }
  static constexpr uint64_t kFaultingOffset = uint64_t(1) << 60;
  static inline uint64_t deviceOffset = kFaultingOffset;

  bool isCalled(const char *name);
  int64_t count(const std::string &name) const;
  void enqueue(FakeWork work);
  void runUntil(const std::function<bool()> &isDone);
  void runAll() {
    runUntil([] { return false; });
  }

  std::map<std::string, FakeKernel> kernels;
  /// Launches that ran.
  std::vector<FakeLaunch> launches;
  /// Names of the functions that were called.
  std::vector<std::string> calls;

  int version = 13000, numDevices = 1, sharedLimit = 200 << 10;
  size_t totalBytes = 1 << 30, usedBytes = 1 << 20;
  CUresult moduleResult = CUDA_SUCCESS;
  /// The n-th call from now on, from 1, returns this.
  int64_t failAt = 0;
  CUresult failure = CUDA_ERROR_UNKNOWN;
  /// The result of waiting for the stream, as after a kernel that failed.
  CUresult streamResult = CUDA_SUCCESS;

  std::map<uint64_t, size_t> allocations;
  std::deque<FakeWork> queue;
  std::vector<FakeWork> *capture = nullptr;
  float clock = 0;
};

} // namespace remat::cuda

#endif // REMAT_UNITTESTS_RUNTIME_CUDA_FAKEDRIVER_H
