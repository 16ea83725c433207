//===- StepMemory.h - Where a step's parameters and states are -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the host, or on a device whose runtime library is loaded when a step is to
// run on one.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_STEPMEMORY_H
#define REMAT_LIB_CAPI_STEPMEMORY_H

#include "remat/Runtime/HostedDevice.h"

#include "mlir/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace mlir::remat {
struct CompiledCode;

/// A device, other than the host, that steps run on. Shared by steps that have
/// parameters and states in common.
class StepDevice {
public:
  /// Loads the runtime library for CUDA, which is beside this one, and opens a
  /// GPU, or with `isEmulated` the host in its place.
  static llvm::Expected<std::shared_ptr<StepDevice>> openCUDA(bool isEmulated);

  ::remat::HostedDevice &get() { return *device; }
  bool isEmulated() const { return emulated; }
  /// The runtime library, in which programs find what they call.
  void *getLibrary() const { return library; }

  /// Keeps code for as long as the device: it remembers programs by addresses
  /// of theirs.
  void keep(std::shared_ptr<CompiledCode> code);

private:
  /// Never closed: programs of others may be in it.
  void *library = nullptr;
  bool emulated = false;
  std::mutex mutex;
  std::vector<std::shared_ptr<CompiledCode>> codes;
  std::unique_ptr<::remat::HostedDevice> device;
};

struct FreeMemory {
  void operator()(void *block) const { std::free(block); }
};

/// Returns an error by which a caller knows that there is too little memory.
llvm::Error failForLackOfMemory(const Twine &message);

/// Zeroed memory. That of the host comes into being when it is written.
class StepBuffer {
public:
  /// On `device`, or on the host if that is null; `name` is what messages say
  /// that the memory is for.
  static llvm::Expected<std::shared_ptr<StepBuffer>>
  allocate(std::shared_ptr<StepDevice> device, ::remat::MemoryClass memoryClass,
           size_t bytes, const Twine &name);
  ~StepBuffer();
  StepBuffer(const StepBuffer &) = delete;

  /// At a multiple of 64 bytes.
  void *getStart() const { return start; }
  size_t getNumBytes() const { return bytes; }
  bool isOnDevice() const { return device != nullptr; }

  /// Copies all of it.
  llvm::Error read(void *into) const;
  llvm::Error write(const void *from);

  bool isInitialized = true;

private:
  StepBuffer() = default;

  std::shared_ptr<StepDevice> device;
  std::unique_ptr<void, FreeMemory> block;
  void *start = nullptr;
  size_t bytes = 0;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_STEPMEMORY_H
