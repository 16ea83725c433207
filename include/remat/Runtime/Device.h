//===- Device.h - Where the buffers of a program live ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The training loop is the same for every target: it asks the device for
// memory, moves bytes through it, and gets losses and times from it. Each
// runtime library has one device, chosen when it is linked. On the CPU all
// memory is the host's, and nothing is copied that need not be.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_DEVICE_H
#define REMAT_RUNTIME_DEVICE_H

#include "remat/Runtime/Runtime.h"

#include <utility>

namespace remat {

/// Types of scalars that a program leaves on the device. The values are part of
/// the interface of compiled programs.
enum class ScalarKind : int64_t { f32, f64, f16, bf16, i1, i8, i16, i32, i64 };
constexpr int64_t numScalarKinds = 9;
size_t byteWidth(ScalarKind kind);
double toDouble(ScalarKind kind, const void *value);

/// The part of the report that is about a device.
struct DeviceReport {
  /// Chip and versions; empty on the CPU.
  std::string description;
  std::vector<std::pair<std::string, double>> figures;
};

class Device {
public:
  virtual ~Device() = default;

  /// How many batches of data it has memory for: the next one may arrive while
  /// a step reads its own.
  virtual size_t dataSlots() const { return 1; }
  /// Says, for messages, what the run's buffers take together.
  virtual void announce(size_t bytes) {}
  /// Zeroed memory for kernels, accounted for; fails if there is none, with
  /// `name`.
  virtual void *allocate(MemoryClass memoryClass, size_t bytes,
                         const std::string &name) = 0;
  /// Zeroed memory that the program itself reads and writes.
  virtual void *allocateOnHost(MemoryClass memoryClass, size_t bytes) = 0;
  virtual void release(void *pointer) = 0;
  /// Returns true if the host may touch the memory.
  virtual bool isHostMemory(const void *pointer) const = 0;

  /// Copies to memory of this device, on the host or not; `from` may change as
  /// soon as it returns.
  virtual void upload(void *to, const void *from, size_t bytes) = 0;
  /// Copies from memory of this device, after all work that precedes.
  virtual void download(void *to, const void *from, size_t bytes) = 0;
  virtual void synchronize() = 0;

  /// Surround the work of a step; `appendStepTimes` adds the seconds of those
  /// whose time is known by now.
  virtual void beginStep() = 0;
  virtual void endStep() = 0;
  virtual void appendStepTimes(std::vector<double> &seconds) = 0;
  /// Precedes each call of the evaluation.
  virtual void beginEvaluation() {}

  /// Keeps the value that the scalar has at this point of the program for
  /// `takeScalars`, which returns all that were kept, in order. Returns whether
  /// they have to be taken now. Taking them fails if an assertion of the
  /// program did not hold until then.
  virtual bool keepScalar(const void *pointer, ScalarKind kind) = 0;
  virtual std::vector<double> takeScalars() = 0;

  virtual DeviceReport report() { return {}; }
};

/// The device of this runtime library.
Device &device();

/// The bytes of a buffer for the host: itself if the host can touch it, else a
/// copy, which is written back by `commit`.
class HostView {
public:
  enum Content { read, overwrite };
  HostView(void *buffer, size_t bytes, Content content);
  ~HostView();
  HostView(const HostView &) = delete;

  char *data() const { return view; }
  void commit();

private:
  bool isCopy() const { return view != buffer; }

  char *buffer;
  size_t bytes;
  char *view;
};

} // namespace remat

#endif // REMAT_RUNTIME_DEVICE_H
