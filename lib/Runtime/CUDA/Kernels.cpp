//===- Kernels.cpp - The kernels of a program's image ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"

#include "remat/Runtime/Runtime.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

std::string cuda::describeKernel(const std::string &name, const char *where) {
  std::string text = " for kernel '" + name + "'";
  return where && *where ? text + " at " + where : text;
}

Kernels::~Kernels() {
  for (const auto &[image, module] : modules)
    driver.cuModuleUnload(module);
}

/// Returns true if other chips or newer drivers may accept the code.
static bool isForOthers(CUresult result) {
  switch (result) {
  case CUDA_ERROR_INVALID_IMAGE: // Machine code of a newer toolkit.
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return true;
  default:
    return false;
  }
}

CUmodule Kernels::load(const void *image) {
  auto it = modules.find(image);
  if (it != modules.end())
    return it->second;
  if (isEmulatedImage(image) != driver.isEmulated)
    fail(driver.isEmulated
             ? "the program's kernels are for an NVIDIA GPU, but the emulator "
               "is in use; unset REMAT_CUDA_EMULATOR or compile with 'emulate'"
             : "the program was compiled with 'emulate', but the NVIDIA driver "
               "is in use; call remat_cuda_module before anything else");
  CUmodule module = nullptr;
  CUresult result = driver.cuModuleLoadData(&module, image);
  if (isForOthers(result) && !driver.isEmulated)
    fail("the program has no code for " + chip.name + " (" + chip.architecture +
         ") and a driver for CUDA " + chip.driverVersion +
         "; compile it with chips=" + chip.architecture +
         ", by a CUDA toolkit that is no newer than the driver (" +
         driver.describe(result) + ")");
  driver.check(result, "cuModuleLoadData");
  modules.insert({image, module});
  return module;
}

Kernel &Kernels::find(const void *image, const char *name, const char *where) {
  auto known = recent.find(name);
  if (known != recent.end() && known->second.first == image &&
      known->second.second->name == name)
    return *known->second.second;
  auto [it, isNew] = kernels.try_emplace({image, name});
  Kernel &kernel = it->second;
  if (isNew) {
    kernel.name = name;
    CUresult result =
        driver.cuModuleGetFunction(&kernel.function, load(image), name);
    if (result != CUDA_SUCCESS)
      driver.fail(result, "cuModuleGetFunction", describeKernel(name, where));
    result = driver.cuFuncGetAttribute(&kernel.staticSharedBytes,
                                       CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                       kernel.function);
    if (result != CUDA_SUCCESS)
      driver.fail(result, "cuFuncGetAttribute", describeKernel(name, where));
    // Without a further word, both kinds together may have this much.
    kernel.dynamicSharedBytes = std::max<int64_t>(
        0, kernel.dynamicSharedBytes - kernel.staticSharedBytes);
  }
  recent[name] = {image, &kernel};
  return kernel;
}

void Kernels::allowSharedMemory(Kernel &kernel, const char *where,
                                int64_t bytes) {
  int64_t needed = bytes + kernel.staticSharedBytes;
  if (needed > chip.sharedBytes)
    fail("kernel '" + kernel.name + "' at " + (where ? where : "?") +
         " needs " + std::to_string(needed) +
         " bytes of workgroup memory, but a block on " + chip.name + " (" +
         chip.architecture + ") has at most " +
         std::to_string(chip.sharedBytes));
  CUresult result = driver.cuFuncSetAttribute(
      kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
      static_cast<int>(bytes));
  if (result != CUDA_SUCCESS)
    driver.fail(result, "cuFuncSetAttribute",
                describeKernel(kernel.name, where));
  kernel.dynamicSharedBytes = bytes;
}

const Kernel &Kernels::get(const void *image, const char *name,
                           const char *where, int64_t sharedBytes) {
  Kernel &kernel = find(image, name, where);
  if (sharedBytes > kernel.dynamicSharedBytes)
    allowSharedMemory(kernel, where, sharedBytes);
  return kernel;
}
