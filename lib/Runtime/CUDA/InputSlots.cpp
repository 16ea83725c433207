//===- InputSlots.cpp - The next batch, beside the step -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InputSlots.h"

using namespace remat;
using namespace remat::cuda;

InputSlots::InputSlots(const Driver &driver, CUstream stream,
                       DeviceMemory &memory)
    : driver(driver), stream(stream), memory(memory) {}

InputSlots::~InputSlots() {
  if (!copyStream)
    return;
  driver.cuStreamSynchronize(copyStream);
  staging.reset();
  for (CUevent event : {uploaded, taken})
    if (event)
      driver.cuEventDestroy_v2(event);
  driver.cuStreamDestroy_v2(copyStream);
}

void InputSlots::open() {
  driver.check(driver.cuStreamCreate(&copyStream, CU_STREAM_NON_BLOCKING),
               "cuStreamCreate");
  for (CUevent *event : {&uploaded, &taken})
    driver.check(driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
                 "cuEventCreate");
  staging.emplace(driver, copyStream, kUploadSlots, kUploadBytes);
}

CUdeviceptr InputSlots::allocate(size_t bytes, const std::string &name) {
  CUdeviceptr buffer = memory.allocateZeroed(MemoryClass::data, bytes, name);
  if (bytes == 0)
    return buffer;
  // Never read before it is written.
  CUdeviceptr slot =
      memory.allocate(MemoryClass::data, bytes, "the next batch of " + name);
  slots.emplace(buffer, Slot{slot, bytes});
  return buffer;
}

void InputSlots::release(CUdeviceptr buffer) {
  auto it = slots.find(buffer);
  if (it == slots.end())
    return;
  // Nothing may arrive any more.
  if (copyStream) {
    staging->submit();
    driver.wait(copyStream);
  }
  memory.release(it->second.pointer);
  slots.erase(it);
}

InputSlots::Slot *InputSlots::find(CUdeviceptr to, size_t &offset) {
  auto it = slots.upper_bound(to);
  if (it == slots.begin())
    return nullptr;
  --it;
  offset = to - it->first;
  return offset < it->second.bytes ? &it->second : nullptr;
}

bool InputSlots::upload(CUdeviceptr to, const void *from, size_t bytes) {
  size_t offset = 0;
  Slot *slot = find(to, offset);
  if (!slot)
    return false;
  if (!copyStream)
    open();
  // One piece of each slot is moved at a time.
  if (slot->first != slot->last && offset != slot->last)
    deliver();
  if (!isPending) {
    // The device has to be done with the batch that was in the slots; none was
    // if the event was never recorded.
    driver.check(driver.cuStreamWaitEvent(copyStream, taken, 0),
                 "cuStreamWaitEvent");
    isPending = true;
  }
  if (offset == 0)
    staging->submit();
  staging->append(slot->pointer + offset, from, bytes);
  if (slot->first == slot->last)
    slot->first = offset;
  slot->last = offset + bytes;
  return true;
}

void InputSlots::deliver() {
  if (!isPending)
    return;
  isPending = false;
  staging->submit();
  driver.check(driver.cuEventRecord(uploaded, copyStream), "cuEventRecord");
  driver.check(driver.cuStreamWaitEvent(stream, uploaded, 0),
               "cuStreamWaitEvent");
  for (auto &[buffer, slot] : slots) {
    if (slot.first == slot.last)
      continue;
    driver.check(driver.cuMemcpyDtoDAsync_v2(buffer + slot.first,
                                             slot.pointer + slot.first,
                                             slot.last - slot.first, stream),
                 "cuMemcpyDtoDAsync");
    slot.first = slot.last = 0;
  }
  driver.check(driver.cuEventRecord(taken, stream), "cuEventRecord");
}
