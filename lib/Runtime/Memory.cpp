//===- Memory.cpp - Bytes by class ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory report's measured side: what the compiler predicts is checked
// against the peaks that are counted here.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Runtime.h"

#include <algorithm>
#include <array>
#include <mutex>

using namespace remat;

namespace {
struct Count {
  int64_t current = 0, peak = 0;
  void add(int64_t bytes) {
    current += bytes;
    peak = std::max(peak, current);
  }
};

struct Account {
  std::mutex mutex;
  std::array<Count, numMemoryClasses> classes;
  Count total;
};
} // namespace

static Account &account() {
  static Account instance;
  return instance;
}

const char *remat::nameOf(MemoryClass memoryClass) {
  static constexpr const char *names[numMemoryClasses] = {
      "parameters", "optimizer state", "state",     "data",
      "arena",      "other",           "constants", "runtime"};
  return names[static_cast<int>(memoryClass)];
}

void remat::accountMemory(MemoryClass memoryClass, int64_t bytes) {
  std::lock_guard<std::mutex> lock(account().mutex);
  account().classes[static_cast<int>(memoryClass)].add(bytes);
  account().total.add(bytes);
}

int64_t remat::currentMemory(MemoryClass memoryClass) {
  std::lock_guard<std::mutex> lock(account().mutex);
  return account().classes[static_cast<int>(memoryClass)].current;
}

int64_t remat::peakMemory(MemoryClass memoryClass) {
  std::lock_guard<std::mutex> lock(account().mutex);
  return account().classes[static_cast<int>(memoryClass)].peak;
}

int64_t remat::peakMemory() {
  std::lock_guard<std::mutex> lock(account().mutex);
  return account().total.peak;
}
