//===- DeviceMemory.h - Memory that the host cannot touch -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_DEVICEMEMORY_H
#define REMAT_EMULATOR_DRIVER_DEVICEMEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace remat::cuda::emulator {

/// New memory is filled with this byte: NaN in every floating-point type, -1 in
/// integers.
constexpr int kPoison = 0xFF;

/// One range of addresses, from which allocations are cut. It is accessible
/// only while a DeviceAccess exists.
class DeviceMemory {
public:
  struct Allocation {
    uintptr_t begin;
    size_t bytes;
    /// Counted from 1 in the order of allocation.
    size_t number;
    bool contains(uintptr_t address, size_t size) const {
      return address >= begin && size <= bytes &&
             address - begin <= bytes - size;
    }
  };
  static constexpr size_t kAlignment = 256;

  static DeviceMemory &get();
  /// Takes the range of addresses; later calls do nothing.
  void reserve(size_t total);

  /// Returns the address, or 0 if there is not enough memory in one piece.
  uintptr_t allocate(size_t bytes);
  /// Returns false if there is no allocation at `address`.
  bool release(uintptr_t address);

  /// The allocation that `address` points into (or to the end of, if no other
  /// one starts there); null if there is none.
  const Allocation *find(uintptr_t address) const;
  bool contains(uintptr_t address) const { return address - base < total; }
  /// Returns true if all `bytes` from `address` on are in one allocation.
  bool isValid(uintptr_t address, size_t bytes) const;
  /// "allocation #1 of 64 bytes + 4".
  std::string describe(uintptr_t address) const;

  uintptr_t getBase() const { return base; }
  size_t getTotalBytes() const { return total; }
  size_t getCurrentBytes() const { return currentBytes; }
  size_t getPeakBytes() const { return peakBytes; }

private:
  friend class DeviceAccess;
  void poison(uintptr_t begin, size_t bytes) const;
  void setAccessible(bool isAccessible) const;

  uintptr_t base = 0;
  size_t total = 0;
  /// All allocations by their address.
  std::map<uintptr_t, Allocation> allocations;
  size_t numAllocated = 0;
  size_t currentBytes = 0, peakBytes = 0;
  /// Bytes from the base on that were ever allocated.
  size_t touchedBytes = 0;
  unsigned numAccesses = 0;
};

/// While it exists, device memory can be accessed.
class DeviceAccess {
public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess &) = delete;
  DeviceAccess &operator=(const DeviceAccess &) = delete;
};

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_DEVICEMEMORY_H
