//===- Launch.cpp - Kernels and their launches ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Launch.h"

#include "Block.h"
#include "Checks.h"
#include "DeviceMemory.h"
#include "Errors.h"
#include "Options.h"
#include "Report.h"

#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

Launch::Launch(const CUfunc_st &function, Dimensions grid, Dimensions block,
               unsigned dynamicBytes, void *const *arguments)
    : function(function), grid(grid), block(block), dynamicBytes(dynamicBytes) {
  const EmulatedKernel &kernel = *function.kernel;
  std::vector<size_t> slots;
  for (int64_t i = 0; i < kernel.numArguments; ++i) {
    slots.push_back(values.size());
    values.resize(values.size() + (kernel.arguments[i].size + 15) / 16);
  }
  for (int64_t i = 0; i < kernel.numArguments; ++i) {
    pointers.push_back(values.data() + slots[i]);
    std::memcpy(pointers.back(), arguments[i], kernel.arguments[i].size);
  }
}

size_t Launch::getDynamicOffset() const {
  constexpr size_t alignment = 16;
  return (function.kernel->sharedBytes + alignment - 1) / alignment * alignment;
}

size_t Launch::getSharedBytes() const {
  return dynamicBytes ? getDynamicOffset() + dynamicBytes
                      : function.kernel->sharedBytes;
}

void Launch::fail(CUresult code, const std::string &text) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (hasFailed())
    return;
  printError("kernel '" + std::string(getName()) + "': " + text);
  if (Options::get().isFatal)
    exitNow();
  error = code;
}

/// An argument of which nothing is known may be a pointer: then it may access
/// the allocation that it points into.
void Launch::collectRanges() {
  const EmulatedKernel &kernel = *function.kernel;
  ranges.clear();
  for (int64_t i = 0; i < kernel.numArguments; ++i) {
    const EmulatedArgument &argument = kernel.arguments[i];
    if (argument.size != sizeof(uintptr_t))
      continue;
    ArgumentRange range = {size_t(i), 0, 0, true, true};
    std::memcpy(&range.begin, pointers[i], sizeof(uintptr_t));
    range.canRead = argument.access != EmulatedAccess::write;
    range.canWrite = argument.access != EmulatedAccess::read;
    const DeviceMemory::Allocation *allocation =
        DeviceMemory::get().find(range.begin);
    range.bytes = argument.bytes;
    if (argument.bytes < 0) {
      if (!allocation)
        continue;
      range.begin = allocation->begin;
      range.bytes = allocation->bytes;
    } else if (argument.bytes > 0 &&
               (!allocation ||
                !allocation->contains(range.begin, argument.bytes))) {
      fail(CUDA_ERROR_ILLEGAL_ADDRESS,
           "argument #" + std::to_string(i) + " has " +
               std::to_string(argument.bytes) +
               " bytes according to the kernel, but points to " +
               DeviceMemory::get().describe(range.begin));
    }
    ranges.push_back(range);
  }
}

/// The `number`-th block to run: a bijection for each order.
static size_t getBlock(size_t number, size_t numBlocks) {
  switch (Options::get().order) {
  case Order::forward:
    return number;
  case Order::backward:
    return numBlocks - 1 - number;
  case Order::random:
    break;
  }
  // A step that has no divisor in common with the number of blocks.
  uint64_t step = Options::get().seed * 2654435761U % numBlocks + 1;
  while (std::gcd(step, numBlocks) != 1)
    ++step;
  auto product = static_cast<unsigned __int128>(number) * step;
  return (product + Options::get().seed) % numBlocks;
}

void Launch::runBlocks(std::atomic<size_t> &next) {
  prepareFaultStack();
  setRunningKernel(getName());
  Block runner(*this);
  size_t numBlocks = getNumBlocks();
  for (size_t number; !hasFailed() && (number = next++) < numBlocks;) {
    size_t index = ::getBlock(number, numBlocks);
    runner.run({unsigned(index % grid[0]), unsigned(index / grid[0] % grid[1]),
                unsigned(index / grid[0] / grid[1])});
  }
  setRunningKernel(nullptr);
}

CUresult Launch::execute() {
  ++getCounts(getName()).launches;
  /// Below this many threads, others of the host do not pay.
  constexpr size_t kThreadsForOne = 1 << 14;
  size_t numWorkers = Options::get().threads;
  if (function.isInstrumented ||
      getNumBlocks() * getNumThreads() < kThreadsForOne)
    numWorkers = 1;
  numWorkers = std::min(numWorkers, getNumBlocks());
  if (function.isInstrumented) {
    collectRanges();
    startChecks(*this);
  }
  std::atomic<size_t> next = 0;
  std::vector<std::thread> workers;
  for (size_t i = 1; i < numWorkers; ++i)
    workers.emplace_back([&] { runBlocks(next); });
  runBlocks(next);
  for (std::thread &worker : workers)
    worker.join();
  return error;
}
