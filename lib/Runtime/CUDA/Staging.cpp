//===- Staging.cpp - Pinned memory between host and device ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Staging.h"

#include <algorithm>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

Staging::~Staging() {
  for (Slot &slot : slots)
    if (slot.memory) {
      driver.cuEventDestroy_v2(slot.event);
      driver.cuMemFreeHost(slot.memory);
    }
}

Staging::Slot &Staging::acquire() {
  Slot &slot = slots[next++ % slots.size()];
  if (slot.memory) {
    driver.check(driver.cuEventSynchronize(slot.event), "cuEventSynchronize");
    return slot;
  }
  void *memory = nullptr;
  CUresult result = driver.cuMemHostAlloc(&memory, slotBytes, 0);
  if (result != CUDA_SUCCESS)
    driver.fail(result, "cuMemHostAlloc",
                " for " + std::to_string(slotBytes) + " pinned bytes");
  driver.check(driver.cuEventCreate(&slot.event, CU_EVENT_DISABLE_TIMING),
               "cuEventCreate");
  slot.memory = static_cast<char *>(memory);
  return slot;
}

void Staging::append(CUdeviceptr to, const void *from, size_t bytes) {
  const char *source = static_cast<const char *>(from);
  while (bytes > 0) {
    if (!open || to != target + filled || filled == slotBytes) {
      submit();
      open = &acquire();
      target = to;
    }
    size_t part = std::min(bytes, slotBytes - filled);
    std::memcpy(open->memory + filled, source, part);
    filled += part;
    source += part;
    to += part;
    bytes -= part;
  }
}

void Staging::submit() {
  if (!open)
    return;
  driver.check(
      driver.cuMemcpyHtoDAsync_v2(target, open->memory, filled, stream),
      "cuMemcpyHtoDAsync");
  driver.check(driver.cuEventRecord(open->event, stream), "cuEventRecord");
  open = nullptr;
  filled = 0;
}

void Staging::download(void *to, CUdeviceptr from, size_t bytes) {
  char *target = static_cast<char *>(to);
  submit();
  for (size_t part; bytes > 0; bytes -= part, from += part, target += part) {
    part = std::min(bytes, slotBytes);
    Slot &slot = acquire();
    driver.check(driver.cuMemcpyDtoHAsync_v2(slot.memory, from, part, stream),
                 "cuMemcpyDtoHAsync");
    driver.check(driver.cuEventRecord(slot.event, stream), "cuEventRecord");
    driver.wait(stream);
    std::memcpy(target, slot.memory, part);
  }
}

size_t Staging::hostBytes() const {
  return std::count_if(slots.begin(), slots.end(),
                       [](const Slot &slot) { return slot.memory; }) *
         slotBytes;
}
