//===- DriverModule.cpp - Modules, functions, launches --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Call.h"
#include "Errors.h"
#include "Launch.h"
#include "Queue.h"

#include <cstring>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

namespace remat::cuda {
struct CUmod_st {
  const EmulatedImage *image;
  /// Of each kernel, once somebody asked for it.
  std::vector<CUfunction> functions;
};
} // namespace remat::cuda

static Handles<CUmod_st> modules;
static Handles<CUfunc_st> functions;

REMAT_DRIVER_FUNCTION cuModuleLoadData(CUmodule *module, const void *image) {
  REMAT_DRIVER_CALL();
  if (!module || !image)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = Queue::get().checkUncaptured(); error != CUDA_SUCCESS)
    return error;
  uint64_t header[2] = {};
  std::memcpy(header, image, sizeof header[0]);
  if (header[0] != kEmulatedImageMagic) {
    printError("these kernels are compiled for a GPU; the emulated driver runs "
               "those of a program that is compiled with 'emulate'");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto *emulated = static_cast<const EmulatedImage *>(image);
  if (emulated->version != kEmulatedImageVersion)
    return CUDA_ERROR_INVALID_IMAGE;
  for (int64_t i = 0; i < emulated->numKernels; ++i)
    if (emulated->kernels[i].sharedBytes > kMaxSharedBytes) {
      printError("kernel '" + std::string(emulated->kernels[i].name) +
                 "' declares " +
                 std::to_string(emulated->kernels[i].sharedBytes) +
                 " bytes of workgroup memory; the most is " +
                 std::to_string(kMaxSharedBytes));
      return CUDA_ERROR_INVALID_IMAGE;
    }
  *module =
      modules.add({emulated, std::vector<CUfunction>(emulated->numKernels)});
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuModuleUnload(CUmodule module) {
  REMAT_DRIVER_CALL();
  if (!modules.contains(module))
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = Queue::get().checkUncaptured(); error != CUDA_SUCCESS)
    return error;
  CUresult error = keepError(Queue::get().finishAll());
  for (CUfunction function : module->functions)
    functions.remove(function);
  modules.remove(module);
  return error;
}

REMAT_DRIVER_FUNCTION cuModuleGetFunction(CUfunction *function, CUmodule module,
                                          const char *name) {
  REMAT_DRIVER_CALL();
  if (!function || !name)
    return CUDA_ERROR_INVALID_VALUE;
  if (!modules.contains(module))
    return CUDA_ERROR_INVALID_HANDLE;
  const EmulatedImage &image = *module->image;
  for (int64_t i = 0; i < image.numKernels; ++i) {
    const EmulatedKernel &kernel = image.kernels[i];
    if (std::strcmp(kernel.name, name) != 0)
      continue;
    CUfunction &known = module->functions[i];
    if (!known)
      known = functions.add({&kernel, image.isInstrumented != 0,
                             kMaxSharedBytes - kernel.sharedBytes});
    *function = known;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

REMAT_DRIVER_FUNCTION cuFuncGetAttribute(int *value,
                                         CUfunction_attribute attribute,
                                         CUfunction function) {
  REMAT_DRIVER_CALL();
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  if (!functions.contains(function))
    return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = function->kernel->sharedBytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 0; // Nothing allocates registers.
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->maxDynamicBytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

REMAT_DRIVER_FUNCTION cuFuncSetAttribute(CUfunction function,
                                         CUfunction_attribute attribute,
                                         int value) {
  REMAT_DRIVER_CALL();
  if (!functions.contains(function))
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value < 0 || value > kMaxOptInSharedBytes - function->kernel->sharedBytes)
    return CUDA_ERROR_INVALID_VALUE;
  function->maxDynamicBytes = value;
  return CUDA_SUCCESS;
}

/// Returns true if the grid, the block and the dynamic workgroup memory are
/// within the limits of the chip and of `function`.
static bool isLaunchable(const CUfunc_st &function, Dimensions grid,
                         Dimensions block, unsigned sharedBytes) {
  for (unsigned size : grid)
    if (size == 0)
      return false;
  for (unsigned size : block)
    if (size == 0 || size > kMaxThreads)
      return false;
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  int64_t most = function.kernel->maxThreads;
  return grid[0] <= kMaxGridX && grid[1] <= kMaxGridYZ &&
         grid[2] <= kMaxGridYZ && block[2] <= kMaxBlockZ &&
         threads <= kMaxThreads &&
         (most == 0 || threads <= static_cast<uint64_t>(most)) &&
         sharedBytes <= function.maxDynamicBytes;
}

REMAT_DRIVER_FUNCTION cuLaunchKernel(CUfunction function, unsigned gridX,
                                     unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY,
                                     unsigned blockZ, unsigned sharedBytes,
                                     CUstream handle, void **arguments,
                                     void **extra) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream || !functions.contains(function))
    return CUDA_ERROR_INVALID_HANDLE;
  Dimensions grid = {gridX, gridY, gridZ}, block = {blockX, blockY, blockZ};
  bool hasArguments = arguments || function->kernel->numArguments == 0;
  if (extra || !hasArguments ||
      !isLaunchable(*function, grid, block, sharedBytes))
    return CUDA_ERROR_INVALID_VALUE;
  auto launch =
      std::make_shared<Launch>(*function, grid, block, sharedBytes, arguments);
  return Queue::get().enqueue(stream, [launch] { return launch->execute(); });
}
