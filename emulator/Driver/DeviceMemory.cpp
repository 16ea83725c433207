//===- DeviceMemory.cpp - Memory that the host cannot touch ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceMemory.h"

#include "Errors.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace remat::cuda::emulator;

static size_t roundUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// In 2 MiB pages a change of protection takes 0.1 ms for 100 MB; in pages of
/// 4 KiB 15 ms.
static constexpr size_t kHugePage = 2 << 20;

static void protect(uintptr_t begin, size_t bytes, int protection) {
  if (mprotect(reinterpret_cast<void *>(begin), roundUp(bytes, kHugePage),
               protection) != 0)
    exitWithError("cannot change the protection of device memory");
}

DeviceMemory &DeviceMemory::get() {
  static auto *memory = new DeviceMemory; // Faults may come at exit.
  return *memory;
}

void DeviceMemory::reserve(size_t bytes) {
  if (base)
    return;
  size_t length = roundUp(std::max<size_t>(bytes, 1), kHugePage) + kHugePage;
  void *range = mmap(nullptr, length, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    exitWithError("cannot reserve " + std::to_string(bytes) +
                  " bytes of addresses (REMAT_EMULATOR_MEMORY)");
  base = roundUp(reinterpret_cast<uintptr_t>(range), kHugePage);
  total = bytes;
  madvise(reinterpret_cast<void *>(base), length - kHugePage, MADV_HUGEPAGE);
}

/// Opens these pages only: those of other allocations need not be changed.
void DeviceMemory::poison(uintptr_t begin, size_t bytes) const {
  uintptr_t first = begin / kHugePage * kHugePage;
  protect(first, begin + bytes - first, PROT_READ | PROT_WRITE);
  std::memset(reinterpret_cast<void *>(begin), kPoison, bytes);
  if (numAccesses == 0)
    protect(first, begin + bytes - first, PROT_NONE);
}

uintptr_t DeviceMemory::allocate(size_t bytes) {
  uintptr_t begin = base;
  for (const auto &[address, allocation] : allocations) {
    if (address - begin >= bytes)
      break;
    begin = roundUp(address + allocation.bytes, kAlignment);
  }
  if (begin - base > total || total - (begin - base) < bytes)
    return 0;
  allocations[begin] = {begin, bytes, ++numAllocated};
  currentBytes += bytes;
  peakBytes = std::max(peakBytes, currentBytes);
  touchedBytes = std::max(touchedBytes, begin + bytes - base);
  poison(begin, bytes);
  return begin;
}

bool DeviceMemory::release(uintptr_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return false;
  currentBytes -= found->second.bytes;
  allocations.erase(found);
  return true;
}

const DeviceMemory::Allocation *DeviceMemory::find(uintptr_t address) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  const Allocation &allocation = std::prev(next)->second;
  return address - allocation.begin <= allocation.bytes ? &allocation : nullptr;
}

bool DeviceMemory::isValid(uintptr_t address, size_t bytes) const {
  const Allocation *allocation = find(address);
  return allocation && allocation->contains(address, bytes);
}

std::string DeviceMemory::describe(uintptr_t address) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return "an address that is not allocated";
  const Allocation &allocation = std::prev(next)->second;
  return "allocation #" + std::to_string(allocation.number) + " of " +
         std::to_string(allocation.bytes) + " bytes + " +
         std::to_string(address - allocation.begin);
}

void DeviceMemory::setAccessible(bool isAccessible) const {
  if (touchedBytes != 0)
    protect(base, touchedBytes,
            isAccessible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

DeviceAccess::DeviceAccess() {
  DeviceMemory &memory = DeviceMemory::get();
  ++memory.numAccesses;
  memory.setAccessible(true);
}

DeviceAccess::~DeviceAccess() {
  DeviceMemory &memory = DeviceMemory::get();
  if (--memory.numAccesses == 0)
    memory.setAccessible(false);
}
