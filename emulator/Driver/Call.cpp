//===- Call.cpp - What every function of the driver does first ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Call.h"

#include "Options.h"

#include <cstring>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

static std::recursive_mutex &getMutex() {
  static auto *mutex = new std::recursive_mutex;
  return *mutex;
}

static bool isInitialized = false;
static CUresult keptError = CUDA_SUCCESS;
static uint64_t numCalls = 0;

void remat::cuda::emulator::setInitialized() {
  isInitialized = true;
  keptError = CUDA_SUCCESS;
  numCalls = 1; // This one.
}

CUresult remat::cuda::emulator::keepError(CUresult error) {
  if (error != CUDA_SUCCESS && keptError == CUDA_SUCCESS)
    keptError = error;
  return error;
}

/// The error that a call of `function` fails with if the user asks for one.
static CUresult getPlannedFailure(const char *function) {
  if (Options::get().failure)
    return static_cast<CUresult>(*Options::get().failure);
  bool allocates = std::strcmp(function, "cuMemAlloc_v2") == 0 ||
                   std::strcmp(function, "cuMemHostAlloc") == 0;
  return allocates ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

Call::Call(const char *function) : lock(getMutex()), error(CUDA_SUCCESS) {
  bool isFirst = std::strcmp(function, "cuInit") == 0;
  if (isFirst)
    Options::get().read();
  uint64_t number = isFirst ? 1 : ++numCalls;
  if (number == Options::get().failingCall)
    error = getPlannedFailure(function);
  else if (!isInitialized && !isFirst)
    error = CUDA_ERROR_NOT_INITIALIZED;
  else if (!isFirst)
    error = keptError;
}

Call::Call()
    : lock(getMutex()),
      error(isInitialized ? keptError : CUDA_ERROR_NOT_INITIALIZED) {}
