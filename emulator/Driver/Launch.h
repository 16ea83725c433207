//===- Launch.h - Kernels and their launches --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_LAUNCH_H
#define REMAT_EMULATOR_DRIVER_LAUNCH_H

#include "remat/CUDA/Driver.h"
#include "remat/CUDA/EmulatedImage.h"

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace remat::cuda {

struct CUfunc_st {
  const EmulatedKernel *kernel;
  bool isInstrumented;
  /// Dynamic workgroup memory that a launch may ask for
  /// (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).
  int64_t maxDynamicBytes;
};

namespace emulator {

/// Limits of the emulated chip, those of sm_90.
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxBlockZ = 64;
constexpr unsigned kMaxGridX = 0x7FFFFFFF;
constexpr unsigned kMaxGridYZ = 65535;
constexpr int64_t kMaxSharedBytes = 48 << 10;
constexpr int64_t kMaxOptInSharedBytes = 227 << 10;

using Dimensions = std::array<unsigned, 3>;

/// Memory that a kernel may access through an argument.
struct ArgumentRange {
  size_t argument;
  uintptr_t begin;
  size_t bytes;
  bool canRead, canWrite;
};

/// A launch with the values of its arguments at the time of the call.
class Launch {
public:
  Launch(const CUfunc_st &function, Dimensions grid, Dimensions block,
         unsigned dynamicBytes, void *const *arguments);

  /// Runs all blocks.
  CUresult execute();

  const CUfunc_st &getFunction() const { return function; }
  const char *getName() const { return function.kernel->name; }
  Dimensions getGrid() const { return grid; }
  Dimensions getBlock() const { return block; }
  size_t getNumThreads() const {
    return size_t(block[0]) * block[1] * block[2];
  }
  size_t getNumBlocks() const { return size_t(grid[0]) * grid[1] * grid[2]; }
  size_t getSharedBytes() const;
  /// From the start of workgroup memory on.
  size_t getDynamicOffset() const;
  void *const *getArguments() const { return pointers.data(); }
  const std::vector<ArgumentRange> &getRanges() const { return ranges; }

  /// Reports an error in this kernel; ends the process if errors are fatal.
  void fail(CUresult error, const std::string &text);
  bool hasFailed() const { return error != CUDA_SUCCESS; }

private:
  void collectRanges();
  void runBlocks(std::atomic<size_t> &next);

  CUfunc_st function;
  Dimensions grid, block;
  unsigned dynamicBytes;
  /// Values of the arguments, each at a multiple of 16 bytes, and where.
  std::vector<std::array<char, 16>> values;
  std::vector<void *> pointers;
  std::vector<ArgumentRange> ranges;
  std::atomic<CUresult> error{CUDA_SUCCESS};
};

} // namespace emulator
} // namespace remat::cuda

#endif // REMAT_EMULATOR_DRIVER_LAUNCH_H
