//===- DriverMemory.cpp - Allocations and copies --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Call.h"
#include "DeviceMemory.h"
#include "Errors.h"
#include "Queue.h"
#include "Report.h"

#include <cstdlib>
#include <cstring>
#include <map>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

/// Page-locked memory of the host: its sizes by its addresses.
static std::map<uintptr_t, size_t> &getPinned() {
  static auto *pinned = new std::map<uintptr_t, size_t>;
  return *pinned;
}

static bool isPinned(const void *pointer, size_t bytes) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = getPinned().upper_bound(address);
  if (next == getPinned().begin())
    return false;
  auto [begin, size] = *std::prev(next);
  return address - begin < size && bytes <= size - (address - begin);
}

static void *getPointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

/// Work that a graph repeats may come after its memory was freed.
static bool isAllocated(CUdeviceptr address, size_t bytes, const char *what) {
  if (DeviceMemory::get().isValid(address, bytes))
    return true;
  std::string text = std::string(what) + " of " + std::to_string(bytes) +
                     " bytes accesses memory that was freed";
  printError(text);
  return false;
}

static CUresult waitForAll() {
  if (CUresult error = Queue::get().checkUncaptured(); error != CUDA_SUCCESS)
    return error;
  return keepError(Queue::get().finishAll());
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

REMAT_DRIVER_FUNCTION cuMemGetInfo_v2(size_t *free, size_t *total) {
  REMAT_DRIVER_CALL();
  if (!free || !total)
    return CUDA_ERROR_INVALID_VALUE;
  *total = DeviceMemory::get().getTotalBytes();
  *free = *total - DeviceMemory::get().getCurrentBytes();
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  REMAT_DRIVER_CALL();
  if (!pointer || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = Queue::get().checkUncaptured(); error != CUDA_SUCCESS)
    return error;
  uintptr_t address = DeviceMemory::get().allocate(bytes);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = address;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuMemFree_v2(CUdeviceptr pointer) {
  REMAT_DRIVER_CALL();
  if (CUresult error = waitForAll(); error != CUDA_SUCCESS)
    return error;
  return pointer == 0 || DeviceMemory::get().release(pointer)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

REMAT_DRIVER_FUNCTION cuMemHostAlloc(void **pointer, size_t bytes,
                                     unsigned flags) {
  (void)flags; // Portable, mapped, write-combined: all the same here.
  REMAT_DRIVER_CALL();
  if (!pointer || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = Queue::get().checkUncaptured(); error != CUDA_SUCCESS)
    return error;
  constexpr size_t alignment = 4096;
  if (bytes > SIZE_MAX - alignment)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment *
                                               alignment);
  if (!*pointer)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(*pointer, kPoison, bytes);
  getPinned()[reinterpret_cast<uintptr_t>(*pointer)] = bytes;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuMemFreeHost(void *pointer) {
  REMAT_DRIVER_CALL();
  if (CUresult error = waitForAll(); error != CUDA_SUCCESS)
    return error;
  if (getPinned().erase(reinterpret_cast<uintptr_t>(pointer)) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::free(pointer);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static bool isHostMemory(const void *pointer) {
  return pointer &&
         !DeviceMemory::get().contains(reinterpret_cast<uintptr_t>(pointer));
}

REMAT_DRIVER_FUNCTION cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                           size_t bytes, CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!isHostMemory(from) || !DeviceMemory::get().isValid(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  // Pageable memory is staged at the call; pinned memory, and what a graph
  // copies, is read when the copy is done.
  std::shared_ptr<std::vector<char>> staged;
  if (!stream->capture && !isPinned(from, bytes)) {
    auto *bytesFrom = static_cast<const char *>(from);
    staged = std::make_shared<std::vector<char>>(bytesFrom, bytesFrom + bytes);
  }
  return Queue::get().enqueue(stream, [=] {
    if (!isAllocated(to, bytes, "a copy to the device"))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memcpy(getPointer(to), staged ? staged->data() : from, bytes);
    getDriverCounts().bytesToDevice += bytes;
    return CUDA_SUCCESS;
  });
}

REMAT_DRIVER_FUNCTION cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from,
                                           size_t bytes, CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!isHostMemory(to) || !DeviceMemory::get().isValid(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return Queue::get().enqueue(stream, [=] {
    if (!isAllocated(from, bytes, "a copy to the host"))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memcpy(to, getPointer(from), bytes);
    getDriverCounts().bytesToHost += bytes;
    return CUDA_SUCCESS;
  });
}

REMAT_DRIVER_FUNCTION cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                           size_t bytes, CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!DeviceMemory::get().isValid(to, bytes) ||
      !DeviceMemory::get().isValid(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return Queue::get().enqueue(stream, [=] {
    if (!isAllocated(to, bytes, "a copy") ||
        !isAllocated(from, bytes, "a copy"))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memmove(getPointer(to), getPointer(from), bytes);
    getDriverCounts().bytesOnDevice += bytes;
    return CUDA_SUCCESS;
  });
}

REMAT_DRIVER_FUNCTION cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                      size_t bytes, CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!DeviceMemory::get().isValid(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return Queue::get().enqueue(stream, [=] {
    if (!isAllocated(to, bytes, "a memset"))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memset(getPointer(to), value, bytes);
    return CUDA_SUCCESS;
  });
}
