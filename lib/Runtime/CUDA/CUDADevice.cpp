//===- CUDADevice.cpp - The training loop's view of the GPU ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"
#include "remat/Runtime/Device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

static CUdeviceptr toAddress(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

namespace {
/// Host memory of the run, which no class of the device counts.
class HostMemory {
public:
  void *allocate(size_t bytes);
  bool release(void *pointer);
  size_t peakBytes() const { return peak; }

private:
  std::map<void *, size_t> allocations;
  size_t held = 0, peak = 0;
};

class CUDADevice final : public Device {
public:
  size_t dataSlots() const override { return kDataSlots; }
  void announce(size_t bytes) override { session().memory.announce(bytes); }
  void *allocate(MemoryClass memoryClass, size_t bytes,
                 const std::string &name) override {
    Session &current = session();
    return reinterpret_cast<void *>(
        memoryClass == MemoryClass::data
            ? current.inputs.allocate(bytes, name)
            : current.memory.allocateZeroed(memoryClass, bytes, name));
  }
  void *allocateOnHost(MemoryClass, size_t bytes) override {
    return host.allocate(bytes);
  }
  void release(void *pointer) override;
  bool isHostMemory(const void *pointer) const override {
    return !session().memory.contains(pointer);
  }

  void upload(void *to, const void *from, size_t bytes) override;
  void download(void *to, const void *from, size_t bytes) override;
  void synchronize() override { session().synchronize(); }

  void beginStep() override;
  void endStep() override;
  void appendStepTimes(std::vector<double> &seconds) override;
  void beginEvaluation() override { session().begin(Phase::evaluation); }

  bool keepScalar(const void *pointer, ScalarKind kind) override {
    return session().keepScalar(toAddress(pointer), kind);
  }
  std::vector<double> takeScalars() override { return session().takeScalars(); }

  DeviceReport report() override;

private:
  HostMemory host;
  std::vector<double> times;
};
} // namespace

void *HostMemory::allocate(size_t bytes) {
  constexpr size_t alignment = 64;
  size_t padded = (bytes + alignment) / alignment * alignment;
  void *pointer = std::aligned_alloc(alignment, padded);
  if (!pointer)
    fail("out of memory: " + std::to_string(bytes) + " bytes on the host");
  std::memset(pointer, 0, padded);
  allocations[pointer] = bytes;
  held += bytes;
  peak = std::max(peak, held);
  return pointer;
}

bool HostMemory::release(void *pointer) {
  auto it = allocations.find(pointer);
  if (it == allocations.end())
    return false;
  held -= it->second;
  allocations.erase(it);
  std::free(pointer);
  return true;
}

void CUDADevice::release(void *pointer) {
  if (!pointer || host.release(pointer))
    return;
  session().flush();
  session().inputs.release(toAddress(pointer));
  session().memory.release(toAddress(pointer));
}

void CUDADevice::upload(void *to, const void *from, size_t bytes) {
  if (!isHostMemory(to))
    session().upload(toAddress(to), from, bytes);
  else if (to != from)
    std::memcpy(to, from, bytes);
}

void CUDADevice::download(void *to, const void *from, size_t bytes) {
  if (!isHostMemory(from))
    session().download(to, toAddress(from), bytes);
  else if (to != from)
    std::memcpy(to, from, bytes);
}

void CUDADevice::beginStep() {
  session().begin(Phase::step);
  // Now and then, so that events are used again.
  session().timer.collect(times);
  session().timer.begin();
}

void CUDADevice::endStep() {
  session().begin(Phase::none);
  session().timer.end();
}

void CUDADevice::appendStepTimes(std::vector<double> &seconds) {
  session().timer.collect(times);
  seconds.insert(seconds.end(), times.begin(), times.end());
  times.clear();
}

DeviceReport CUDADevice::report() {
  Session &current = session();
  const Driver &driver = current.driver;
  size_t free = 0, total = 0;
  driver.check(driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  const SegmentCounts &counts = current.segments.getCounts();
  double perStep = counts.steps ? 1.0 / double(counts.steps) : 0;
  DeviceReport report;
  report.description = current.chip.name + " (" + current.chip.architecture +
                       "), driver for CUDA " + current.chip.driverVersion;
  if (std::string version = current.products.version(); !version.empty())
    report.description += ", cuBLASLt " + version;
  if (std::string version = current.convolutions.version(); !version.empty())
    report.description += ", cuDNN " + version;
  report.figures = {
      {"launches per step", double(counts.launches) * perStep},
      {"library calls per step", double(counts.libraryCalls) * perStep},
      {"graphs captured", double(counts.captures)},
      {"graphs replayed", double(counts.replays)},
      {"context and others",
       double(total - free) - double(current.memory.heldBytes())},
      {"host memory", double(host.peakBytes() + current.hostBytes())},
  };
  return report;
}

Device &remat::device() {
  static auto *instance = new CUDADevice();
  return *instance;
}
