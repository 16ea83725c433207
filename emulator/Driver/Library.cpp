//===- Library.cpp - For libraries on the emulated device -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Emulator/Library.h"

#include "Call.h"
#include "DeviceMemory.h"
#include "Errors.h"
#include "Options.h"
#include "Queue.h"
#include "Report.h"

#include <cstdio>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

#define REMAT_EMULATOR_EXPORT __attribute__((visibility("default")))

extern "C" {
REMAT_EMULATOR_EXPORT CUresult remat_emu_enqueue(CUstream handle,
                                                 CUresult (*run)(void *),
                                                 void *data,
                                                 void (*release)(void *)) {
  std::shared_ptr<void> owned(data, release);
  Call call; // Not one of the driver's, so it is not counted.
  if (call.getError() != CUDA_SUCCESS)
    return call.getError();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  return Queue::get().enqueue(
      stream, [owned = std::move(owned), run] { return run(owned.get()); });
}

REMAT_EMULATOR_EXPORT bool remat_emu_is_device_memory(const void *pointer,
                                                      size_t bytes) {
  return DeviceMemory::get().isValid(reinterpret_cast<uintptr_t>(pointer),
                                     bytes);
}

REMAT_EMULATOR_EXPORT void remat_emu_count(const char *name, uint64_t read,
                                           uint64_t written) {
  KernelCounts &counts = getCounts(name);
  ++counts.launches;
  counts.bytesRead += read;
  counts.bytesWritten += written;
}

REMAT_EMULATOR_EXPORT void remat_emu_error(const char *text) {
  printError(text);
  if (Options::get().isFatal)
    exitNow();
}

REMAT_EMULATOR_EXPORT uint64_t remat_emu_peak_bytes() {
  return DeviceMemory::get().getPeakBytes();
}

REMAT_EMULATOR_EXPORT uint64_t remat_emu_current_bytes() {
  return DeviceMemory::get().getCurrentBytes();
}

REMAT_EMULATOR_EXPORT void remat_emu_report() {
  std::fputs(getReport().c_str(), stderr);
}
}
