//===- DriverDevice.cpp - The device, its context, errors' names ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Call.h"
#include "DeviceMemory.h"
#include "Errors.h"
#include "Launch.h"
#include "Options.h"
#include "Queue.h"
#include "Report.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

namespace remat::cuda {
struct CUctx_st {};
} // namespace remat::cuda

static CUctx_st context;

REMAT_DRIVER_FUNCTION cuInit(unsigned flags) {
  REMAT_DRIVER_CALL();
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  DeviceMemory::get().reserve(Options::get().memory);
  Queue::get().setSeed(Options::get().seed);
  installFaultHandler();
  static bool isRegistered = std::atexit(writeReport) == 0;
  (void)isRegistered;
  setInitialized();
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDeviceGetCount(int *count) {
  REMAT_DRIVER_CALL();
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = 1;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDeviceGet(CUdevice *device, int ordinal) {
  REMAT_DRIVER_CALL();
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  if (ordinal != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDeviceGetName(char *name, int length, CUdevice device) {
  REMAT_DRIVER_CALL();
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, length, "remat emulated device");
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDeviceGetAttribute(int *value,
                                           CUdevice_attribute attribute,
                                           CUdevice device) {
  REMAT_DRIVER_CALL();
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = kMaxThreads;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = 9;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = kMaxOptInSharedBytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

REMAT_DRIVER_FUNCTION cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  REMAT_DRIVER_CALL();
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = DeviceMemory::get().getTotalBytes();
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDevicePrimaryCtxRetain(CUcontext *result,
                                               CUdevice device) {
  REMAT_DRIVER_CALL();
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  *result = &context;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  REMAT_DRIVER_CALL();
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

REMAT_DRIVER_FUNCTION cuCtxSetCurrent(CUcontext current) {
  REMAT_DRIVER_CALL();
  return !current || current == &context ? CUDA_SUCCESS
                                         : CUDA_ERROR_INVALID_CONTEXT;
}

REMAT_DRIVER_FUNCTION cuCtxSynchronize() {
  REMAT_DRIVER_CALL();
  if (CUresult error = Queue::get().checkUncaptured(); error != CUDA_SUCCESS)
    return error;
  return keepError(Queue::get().finishAll());
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct ErrorText {
  CUresult error;
  const char *name, *text;
};
} // namespace

static const ErrorText *findError(CUresult error) {
#define REMAT_ERROR(name, text)                                                \
  {                                                                            \
    name, #name, text                                                          \
  }
  static constexpr ErrorText errors[] = {
      REMAT_ERROR(CUDA_SUCCESS, "no error"),
      REMAT_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
      REMAT_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
      REMAT_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
      REMAT_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
      REMAT_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
      REMAT_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
      REMAT_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
      REMAT_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
                  "no kernel image is available for execution on the device"),
      REMAT_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
      REMAT_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                  "the provided PTX was compiled with an unsupported "
                  "toolchain."),
      REMAT_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
      REMAT_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
      REMAT_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
      REMAT_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
                  "an illegal memory access was encountered"),
      REMAT_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                  "too many resources requested for launch"),
      REMAT_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "operation not permitted when stream is capturing"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  "operation failed due to a previous error during capture"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                  "operation would result in a merge of separate capture "
                  "sequences"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                  "capture was not ended in the same stream as it began"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "capturing stream has unjoined work"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                  "dependency created on uncaptured work in another stream"),
      REMAT_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a "
                  "capturing blocking stream"),
      REMAT_ERROR(CUDA_ERROR_CAPTURED_EVENT,
                  "operation not permitted on an event last recorded in a "
                  "capturing stream"),
      REMAT_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
  };
#undef REMAT_ERROR
  for (const ErrorText &entry : errors)
    if (entry.error == error)
      return &entry;
  return nullptr;
}

REMAT_DRIVER_FUNCTION cuGetErrorName(CUresult error, const char **text) {
  const ErrorText *entry = findError(error);
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = entry ? entry->name : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

REMAT_DRIVER_FUNCTION cuGetErrorString(CUresult error, const char **text) {
  const ErrorText *entry = findError(error);
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = entry ? entry->text : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
