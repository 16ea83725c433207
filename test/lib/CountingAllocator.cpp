//===- CountingAllocator.cpp - What a program allocates -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The independent check of remat-pack-memory: programs lowered with
// `-finalize-memref-to-llvm=use-generic-functions` allocate through this
// library, which knows nothing of plans. Fresh and freed bytes are poisoned, so
// that a lifetime that is too short shows in the numbers.
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace {
constexpr size_t alignment = 64;
std::unordered_map<void *, size_t> live;
int64_t liveBytes = 0, peakBytes = 0, allocations = 0;

void *allocate(size_t bytes) {
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *pointer = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  std::memset(pointer, 0xff, rounded);
  live[pointer] = rounded;
  liveBytes += static_cast<int64_t>(rounded);
  peakBytes = liveBytes > peakBytes ? liveBytes : peakBytes;
  ++allocations;
  return pointer;
}
} // namespace

extern "C" {
#define EXPORT __attribute__((visibility("default")))

EXPORT void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  return allocate(bytes);
}

EXPORT void *_mlir_memref_to_llvm_aligned_alloc(size_t, size_t bytes) {
  return allocate(bytes);
}

EXPORT void _mlir_memref_to_llvm_free(void *pointer) {
  auto it = live.find(pointer);
  if (it == live.end()) {
    std::fprintf(stderr, "freed twice, or never allocated\n");
    std::abort();
  }
  liveBytes -= static_cast<int64_t>(it->second);
  std::memset(pointer, 0xff, it->second);
  live.erase(it);
  std::free(pointer);
}

/// Prints the figures, and starts anew with what is live.
EXPORT void remat_test_print_allocations() {
  std::printf("peak %lld bytes in %lld allocations\n",
              static_cast<long long>(peakBytes),
              static_cast<long long>(allocations));
  std::fflush(stdout);
  peakBytes = liveBytes;
  allocations = 0;
}
}
