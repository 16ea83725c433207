//===- CPUDevice.cpp - The device that is the host ------------------------===//
//
// Host memory, the host's clock, and no work that is still to be done when a
// function returns.
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace remat;

using Clock = std::chrono::steady_clock;

namespace {
/// Precedes every allocation, in the room that its alignment leaves.
struct Header {
  MemoryClass memoryClass;
  size_t bytes;
};

constexpr size_t kAlignment = 64;
static_assert(sizeof(Header) <= kAlignment);

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

void *CPUDevice::allocate(MemoryClass memoryClass, size_t bytes,
                          const std::string &) {
  size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto *block =
      static_cast<char *>(std::aligned_alloc(kAlignment, kAlignment + padded));
  if (!block)
    fail("out of memory: " + std::to_string(bytes) + " bytes for " +
         nameOf(memoryClass));
  std::memset(block + kAlignment, 0, bytes);
  *reinterpret_cast<Header *>(block) = {memoryClass, bytes};
  accountMemory(memoryClass, bytes);
  return block + kAlignment;
}

void CPUDevice::release(void *pointer) {
  if (!pointer)
    return;
  char *block = static_cast<char *>(pointer) - kAlignment;
  auto *header = reinterpret_cast<Header *>(block);
  accountMemory(header->memoryClass, -int64_t(header->bytes));
  std::free(block);
}

Device &remat::device() {
  static CPUDevice instance;
  return instance;
}
