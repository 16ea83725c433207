//===- CPUDevice.cpp - The device that is the host ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory, the host's clock, and no work that is still to be done when a
// function returns.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Device.h"
#include "remat/Runtime/LargePages.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace remat;

using Clock = std::chrono::steady_clock;

namespace {
/// Precedes every allocation, in the room that its alignment leaves.
struct Header {
  void *block;
  MemoryClass memoryClass;
  size_t bytes;
};

constexpr size_t kAlignment = 64;

class CPUDevice final : public Device {
public:
  void *allocate(MemoryClass memoryClass, size_t bytes,
                 const std::string &name) override;
  void *allocateOnHost(MemoryClass memoryClass, size_t bytes) override {
    return allocate(memoryClass, bytes, "");
  }
  void release(void *pointer) override;
  bool isHostMemory(const void *) const override { return true; }

  void upload(void *to, const void *from, size_t bytes) override {
    copy(to, from, bytes);
  }
  void download(void *to, const void *from, size_t bytes) override {
    copy(to, from, bytes);
  }
  void synchronize() override {}

  void beginStep() override { start = Clock::now(); }
  void endStep() override {
    std::chrono::duration<double> elapsed = Clock::now() - start;
    seconds.push_back(elapsed.count());
  }
  void appendStepTimes(std::vector<double> &times) override {
    times.insert(times.end(), seconds.begin(), seconds.end());
    seconds.clear();
  }

  bool keepScalar(const void *pointer, ScalarKind kind) override {
    scalars.push_back(toDouble(kind, pointer));
    return true;
  }
  std::vector<double> takeScalars() override {
    return std::exchange(scalars, {});
  }

private:
  static void copy(void *to, const void *from, size_t bytes) {
    if (to != from)
      std::memcpy(to, from, bytes);
  }

  Clock::time_point start;
  std::vector<double> seconds;
  std::vector<double> scalars;
};
} // namespace

// Pages that the system has just given are zero already: the threads that use a
// large buffer touch it first.
void *CPUDevice::allocate(MemoryClass memoryClass, size_t bytes,
                          const std::string &) {
  size_t room = sizeof(Header) + kAlignment - 1;
  void *block =
      bytes <= SIZE_MAX - room ? std::calloc(1, room + bytes) : nullptr;
  if (!block)
    fail("out of memory: " + std::to_string(bytes) + " bytes for " +
         nameOf(memoryClass));
  adviseLargePages(block, room + bytes);
  auto address = reinterpret_cast<uintptr_t>(block) + room;
  char *pointer = reinterpret_cast<char *>(address / kAlignment * kAlignment);
  reinterpret_cast<Header *>(pointer)[-1] = {block, memoryClass, bytes};
  accountMemory(memoryClass, bytes);
  return pointer;
}

void CPUDevice::release(void *pointer) {
  if (!pointer)
    return;
  Header header = static_cast<Header *>(pointer)[-1];
  accountMemory(header.memoryClass, -int64_t(header.bytes));
  std::free(header.block);
}

Device &remat::device() {
  static CPUDevice instance;
  return instance;
}
