//===- HostedDevice.h - A device of a host program --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that runs steps inside another one has as many devices of its own
// as it wants: each with memory, a stream, and what it remembers of the
// commands that came before. Nothing here ends the process.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_HOSTEDDEVICE_H
#define REMAT_RUNTIME_HOSTEDDEVICE_H

#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/Step.h"

#include <string>
#include <vector>

namespace remat {

/// Functions return what is wrong, or an empty text. After that the device is
/// lost, and each function says so, unless there was just too little memory.
/// One thread at a time may call them, any thread. A process that was forked
/// since has no device.
class HostedDevice {
public:
  virtual ~HostedDevice() = default;

  /// Says how many bytes will be allocated, for messages.
  virtual void announce(size_t bytes) = 0;
  /// How often it has the memory that data is allocated in.
  virtual size_t getDataSlots() const = 0;
  /// Zeroed memory; null for no bytes. `isShort` is set if there is too little.
  virtual std::string allocate(MemoryClass memoryClass, size_t bytes,
                               const std::string &name, void **pointer,
                               bool *isShort) = 0;
  virtual std::string release(void *pointer) = 0;
  /// Between host and device; both wait until it is done.
  virtual std::string write(void *to, const void *from, size_t bytes) = 0;
  virtual std::string read(void *to, const void *from, size_t bytes) = 0;

  struct Program {
    /// The image of its kernels; null if it has none.
    const void *kernels;
    bool multiplies, convolves;
  };
  /// Loads what `program` needs of the machine, so that what is missing is said
  /// before the first step. The device is not lost by that.
  virtual std::string load(const Program &program) = 0;

  /// Bytes that a call of the program reads.
  struct Input {
    void *to;
    const void *from;
    size_t bytes;
    bool isOnDevice;
  };
  struct Call {
    RematStepFunction function;
    void *const *buffers;
    int64_t step;
    bool evaluates;
    std::vector<Input> inputs;
  };
  enum class Outcome {
    done,
    /// Nothing was run.
    refused,
    /// An assertion of the program does not hold: all commands before it ran,
    /// and none after it. The device is not lost.
    assertion,
    /// The same after the step had begun to write parameters or states.
    assertionAfterWrites,
    lost
  };
  /// Runs `call`, and waits for it.
  virtual std::string run(const Call &call, Outcome *outcome) = 0;

  /// The stream (CUstream) in whose order it works.
  virtual void *getStream() const = 0;
  virtual int getNumber() const = 0;
  /// The bytes it holds in its memory, and the runtime's own among them.
  virtual size_t getHeldBytes() const = 0;
  virtual size_t getRuntimeBytes() const = 0;
  /// As in `NVIDIA H100 (sm_90), driver for CUDA 13.0`.
  virtual std::string describe() const = 0;
};

} // namespace remat

/// The function that a device's runtime library exports under the name below.
/// Returns null, or an error message, which the caller frees. `isEmulated`: the
/// device is the host, which executes the kernels.
typedef char *(*RematOpenDeviceFunction)(bool isEmulated,
                                         remat::HostedDevice **device);
#define REMAT_OPEN_DEVICE "remat_rt_open_device"

#endif // REMAT_RUNTIME_HOSTEDDEVICE_H
