//===- DeviceMemory.h - Accounted memory on the device ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every byte that the runtime asks of the driver is asked here, so that the
// report counts what was allocated and not what was predicted.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_DEVICEMEMORY_H
#define REMAT_RUNTIME_CUDA_DEVICEMEMORY_H

#include "DriverLibrary.h"
#include "remat/Runtime/Runtime.h"

#include <functional>
#include <map>

namespace remat::cuda {

class DeviceMemory {
public:
  DeviceMemory(const Driver &driver, CUstream stream)
      : driver(driver), stream(stream) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;

  /// Announces the bytes of all buffers that will be allocated from now on, for
  /// messages.
  void announce(size_t bytes) { announced = size_t(held) + bytes; }
  /// `release` is called once if memory is short, to free unused memory.
  void setReserve(std::function<void()> release) {
    releaseReserve = std::move(release);
  }

  /// Memory that starts at a multiple of 256 bytes, 0 for no bytes. Fails,
  /// with `name`, if there is none.
  CUdeviceptr allocate(MemoryClass memoryClass, size_t bytes,
                       const std::string &name);
  CUdeviceptr allocateZeroed(MemoryClass memoryClass, size_t bytes,
                             const std::string &name);
  /// All commands that use it have been issued.
  void release(CUdeviceptr pointer);

  /// Returns true if the address is in memory of `allocate`.
  bool contains(const void *pointer) const;
  /// Returns true if it is what `allocate` returned.
  bool isStart(CUdeviceptr pointer) const {
    return allocations.count(pointer) != 0;
  }
  int64_t heldBytes() const { return held; }
  /// Returns how often there was too little memory.
  size_t countShortages() const { return shortages; }

private:
  [[noreturn]] void failForLackOf(size_t bytes, const std::string &name);

  struct Allocation {
    size_t bytes;
    MemoryClass memoryClass;
  };

  const Driver &driver;
  CUstream stream;
  std::map<CUdeviceptr, Allocation> allocations;
  std::function<void()> releaseReserve;
  size_t announced = 0, shortages = 0;
  int64_t held = 0;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_DEVICEMEMORY_H
