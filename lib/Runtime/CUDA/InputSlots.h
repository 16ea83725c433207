//===- InputSlots.h - The next batch, beside the step ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While a step reads its batch, the next one is uploaded on a stream of its own
// into a second slot. It is moved to where programs read it (graphs know the
// address) when they have done with the batch before: a copy on the device
// takes a fraction of what the bus takes.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_INPUTSLOTS_H
#define REMAT_RUNTIME_CUDA_INPUTSLOTS_H

#include "DeviceMemory.h"
#include "Staging.h"

#include <map>
#include <optional>

namespace remat::cuda {

class InputSlots {
public:
  /// Programs run on `stream`.
  InputSlots(const Driver &driver, CUstream stream, DeviceMemory &memory);
  ~InputSlots();
  InputSlots(const InputSlots &) = delete;

  /// A buffer for data, and a slot beside it.
  CUdeviceptr allocate(size_t bytes, const std::string &name);
  /// Frees the slot, if `buffer` has one.
  void release(CUdeviceptr buffer);

  /// Starts to bring bytes to a place in a buffer that `allocate` returned;
  /// `from` may change then. Returns whether `to` is such a place.
  bool upload(CUdeviceptr to, const void *from, size_t bytes);
  /// Makes commands issued on the stream from now on read the uploads.
  void deliver();

  /// Pinned bytes.
  size_t hostBytes() const { return staging ? staging->hostBytes() : 0; }

private:
  struct Slot {
    CUdeviceptr pointer;
    size_t bytes;
    /// The bytes of it that the next batch has written.
    size_t first = 0, last = 0;
  };
  Slot *find(CUdeviceptr to, size_t &offset);
  /// Streams and events are made when the first batch comes.
  void open();

  const Driver &driver;
  CUstream stream, copyStream = nullptr;
  CUevent uploaded = nullptr, taken = nullptr;
  DeviceMemory &memory;
  std::optional<Staging> staging;
  /// By the start of their buffers.
  std::map<CUdeviceptr, Slot> slots;
  bool isPending = false;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_INPUTSLOTS_H
