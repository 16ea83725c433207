//===- DriverLibrary.cpp - Load the driver or its emulator ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DriverLibrary.h"

#include "DynamicLibrary.h"
#include "remat/CUDA/EmulatedImage.h"
#include "remat/Runtime/Runtime.h"

#include <cstdlib>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return std::string(name) + ": " + text;
}

void Driver::fail(CUresult result, const char *call,
                  const std::string &context) const {
  remat::fail(std::string(call) + " failed" + context + ": " +
              describe(result));
}

void Driver::wait(CUstream stream) const {
  CUresult result = cuStreamSynchronize(stream);
  if (result != CUDA_SUCCESS)
    remat::fail("cuStreamSynchronize failed: " + describe(result) +
                " (in work that was launched before; REMAT_CUDA_SYNC=1 waits "
                "for each kernel and names the one that fails)");
}

bool cuda::isEmulatedImage(const void *image) {
  uint64_t magic;
  std::memcpy(&magic, image, sizeof(magic));
  return magic == kEmulatedImageMagic;
}

static DynamicLibrary openEmulator() {
  const char *named = std::getenv("REMAT_CUDA_EMULATOR");
  std::string path =
      named ? named : getEmulatorPath("libremat_cuda_emulator.so");
  // Global: the emulated libraries enqueue their work with it.
  DynamicLibrary library = DynamicLibrary::open({path}, /*isGlobal=*/true);
  if (!library)
    fail("the CUDA emulator cannot be loaded (" + library.getReason() +
         "); it is a tool of the source build and no part of a wheel: build "
         "it with tools/setup, or name its libremat_cuda_emulator.so in "
         "REMAT_CUDA_EMULATOR");
  return library;
}

static DynamicLibrary openDriver() {
  DynamicLibrary library = DynamicLibrary::open({"libcuda.so.1"});
  if (!library)
    fail("no NVIDIA driver: libcuda.so.1 cannot be loaded (" +
         library.getReason() +
         "); compile with 'emulate' to run the kernels on the host");
  return library;
}

Driver cuda::loadDriver(bool isEmulated) {
  Driver driver;
  driver.isEmulated = isEmulated;
  DynamicLibrary library = driver.isEmulated ? openEmulator() : openDriver();
  auto load = [&](auto &function, const char *name) {
    if (!library.find(function, name))
      fail(std::string(driver.isEmulated ? "the CUDA emulator"
                                         : "the NVIDIA driver") +
           " has no " + name +
           (driver.isEmulated ? "; build it again"
                              : "; one for CUDA 12.0 or newer is needed"));
  };
#define REMAT_LOAD(NAME, PARAMETERS) load(driver.NAME, #NAME);
  REMAT_CUDA_DRIVER_FUNCTIONS(REMAT_LOAD)
#undef REMAT_LOAD
  return driver;
}
