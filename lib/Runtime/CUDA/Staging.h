//===- Staging.h - Pinned memory between host and device -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver reads pinned memory when the copy runs, not when it is asked for.
// So each copy has a slot of a ring, which is used again after the event that
// follows the copy.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_STAGING_H
#define REMAT_RUNTIME_CUDA_STAGING_H

#include "DriverLibrary.h"

#include <vector>

namespace remat::cuda {

/// For data that go up while the step before runs.
inline constexpr int kUploadSlots = 3;
inline constexpr size_t kUploadBytes = 4 << 20;

class Staging {
public:
  Staging(const Driver &driver, CUstream stream, int numSlots, size_t slotBytes)
      : driver(driver), stream(stream), slots(numSlots), slotBytes(slotBytes) {}
  ~Staging();
  Staging(const Staging &) = delete;

  /// Copies `from` now, and to the device no later than with `submit`: pieces
  /// that follow each other there become one copy. Another allocation needs a
  /// copy of its own, even if it is the next one.
  void append(CUdeviceptr to, const void *from, size_t bytes);
  void submit();
  /// Waits for everything on the stream.
  void download(void *to, CUdeviceptr from, size_t bytes);

  /// Pinned bytes.
  size_t hostBytes() const;

private:
  struct Slot {
    char *memory = nullptr;
    CUevent event = nullptr;
  };
  /// The next slot, once the device is done with it.
  Slot &acquire();

  const Driver &driver;
  CUstream stream;
  std::vector<Slot> slots;
  size_t slotBytes, next = 0;
  /// The copy that is not submitted yet.
  Slot *open = nullptr;
  CUdeviceptr target = 0;
  size_t filled = 0;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_STAGING_H
