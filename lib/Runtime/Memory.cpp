//===- Memory.cpp - Bytes by class ----------------------------------------===//
//
// The memory report's measured side: what the compiler predicts is checked
// against the peaks that are counted here.
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Runtime.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
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

/// Precedes every allocation, in the room that its alignment leaves.
struct Header {
  MemoryClass memoryClass;
  size_t bytes;
};
} // namespace

static Account &account() {
  static Account instance;
  return instance;
}

const char *remat::nameOf(MemoryClass memoryClass) {
  static constexpr const char *names[numMemoryClasses] = {
      "parameters", "optimizer state", "state", "data", "arena", "other"};
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

static constexpr size_t alignment = 64;
static_assert(sizeof(Header) <= alignment);

void *remat::allocate(MemoryClass memoryClass, size_t bytes) {
  size_t padded = (bytes + alignment - 1) / alignment * alignment;
  auto *block =
      static_cast<char *>(std::aligned_alloc(alignment, alignment + padded));
  if (!block)
    fail("out of memory: " + std::to_string(bytes) + " bytes for " +
         nameOf(memoryClass));
  std::memset(block + alignment, 0, bytes);
  *reinterpret_cast<Header *>(block) = {memoryClass, bytes};
  accountMemory(memoryClass, bytes);
  return block + alignment;
}

void remat::release(void *pointer) {
  if (!pointer)
    return;
  char *block = static_cast<char *>(pointer) - alignment;
  auto *header = reinterpret_cast<Header *>(block);
  accountMemory(header->memoryClass, -int64_t(header->bytes));
  std::free(block);
}
