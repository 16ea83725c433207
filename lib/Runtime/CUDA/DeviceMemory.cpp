//===- DeviceMemory.cpp - Accounted memory on the device ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceMemory.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

DeviceMemory::~DeviceMemory() {
  for (const auto &[pointer, allocation] : allocations) {
    driver.cuMemFree_v2(pointer);
    accountMemory(allocation.memoryClass, -int64_t(allocation.bytes));
  }
}

void DeviceMemory::failForLackOf(size_t bytes, const std::string &name) {
  ++shortages;
  size_t free = 0, total = 0;
  driver.check(driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  fail("out of memory on the device: " + name + " takes " +
       std::to_string(bytes) + " bytes, but " + std::to_string(free) + " of " +
       std::to_string(total) + " are free; the run needs " +
       std::to_string(std::max(announced, size_t(held) + bytes)) +
       " in all, of which it has " + std::to_string(held));
}

CUdeviceptr DeviceMemory::allocate(MemoryClass memoryClass, size_t bytes,
                                   const std::string &name) {
  if (bytes == 0)
    return 0;
  CUdeviceptr pointer = 0;
  CUresult result = driver.cuMemAlloc_v2(&pointer, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY && releaseReserve) {
    releaseReserve();
    result = driver.cuMemAlloc_v2(&pointer, bytes);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    failForLackOf(bytes, name);
  if (result != CUDA_SUCCESS)
    driver.fail(result, "cuMemAlloc", " for " + name);
  allocations.insert({pointer, {bytes, memoryClass}});
  held += bytes;
  accountMemory(memoryClass, bytes);
  return pointer;
}

CUdeviceptr DeviceMemory::allocateZeroed(MemoryClass memoryClass, size_t bytes,
                                         const std::string &name) {
  CUdeviceptr pointer = allocate(memoryClass, bytes, name);
  if (pointer)
    driver.check(driver.cuMemsetD8Async(pointer, 0, bytes, stream),
                 "cuMemsetD8Async");
  return pointer;
}

void DeviceMemory::release(CUdeviceptr pointer) {
  auto it = allocations.find(pointer);
  if (it == allocations.end())
    fail("memory is released that the device runtime did not allocate");
  driver.check(driver.cuMemFree_v2(pointer), "cuMemFree");
  held -= it->second.bytes;
  accountMemory(it->second.memoryClass, -int64_t(it->second.bytes));
  allocations.erase(it);
}

bool DeviceMemory::contains(const void *pointer) const {
  auto address = reinterpret_cast<CUdeviceptr>(pointer);
  auto it = allocations.upper_bound(address);
  return it != allocations.begin() &&
         address - std::prev(it)->first < std::prev(it)->second.bytes;
}
