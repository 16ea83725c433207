//===- StepMemory.cpp - Where a step's parameters and states are ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepMemory.h"

#include "JIT.h"
#include "remat-c/Step.h"
#include "remat/Runtime/LargePages.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <dlfcn.h>

using namespace mlir;
using namespace mlir::remat;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static constexpr size_t kAlignment = 64;

static Error toError(const std::string &problem) {
  return problem.empty() ? Error::success() : createStringError(problem);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<StepDevice>> StepDevice::openCUDA(bool isEmulated) {
  Dl_info info;
  SmallString<128> path("libremat_cuda_runtime.so");
  if (dladdr(reinterpret_cast<void *>(&rematStepCompile), &info)) {
    path = llvm::sys::path::parent_path(info.dli_fname);
    llvm::sys::path::append(path, "libremat_cuda_runtime.so");
  }
  auto result = std::make_shared<StepDevice>();
  result->emulated = isEmulated;
  result->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!result->library)
    return createStringError(Twine("the runtime for CUDA cannot be loaded: ") +
                             dlerror());
  auto open = reinterpret_cast<RematOpenDeviceFunction>(
      dlsym(result->library, REMAT_OPEN_DEVICE));
  if (!open)
    return createStringError(Twine(path) + " has no " REMAT_OPEN_DEVICE
                                           "; build or install it again");
  ::remat::HostedDevice *device = nullptr;
  std::unique_ptr<char, FreeMemory> problem(open(isEmulated, &device));
  if (problem)
    return createStringError(StringRef(problem.get()));
  result->device.reset(device);
  return result;
}

void StepDevice::keep(std::shared_ptr<CompiledCode> code) {
  std::lock_guard<std::mutex> lock(mutex);
  codes.push_back(std::move(code));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Error mlir::remat::failForLackOfMemory(const Twine &message) {
  return createStringError(message.str(),
                           std::make_error_code(std::errc::not_enough_memory));
}

static Error failForLackOf(size_t bytes, const Twine &name) {
  return failForLackOfMemory("there is no memory for the " + Twine(bytes) +
                             " bytes of " + name);
}

Expected<std::shared_ptr<StepBuffer>>
StepBuffer::allocate(std::shared_ptr<StepDevice> device,
                     ::remat::MemoryClass memoryClass, size_t bytes,
                     const Twine &name) {
  std::shared_ptr<StepBuffer> buffer(new StepBuffer);
  buffer->bytes = bytes;
  if (device) {
    bool isShort = false;
    std::string problem = device->get().allocate(memoryClass, bytes, name.str(),
                                                 &buffer->start, &isShort);
    if (isShort)
      return failForLackOfMemory(problem);
    if (Error error = toError(problem))
      return error;
    buffer->device = std::move(device);
    return buffer;
  }
  if (bytes > SIZE_MAX - kAlignment)
    return failForLackOf(bytes, name);
  buffer->block.reset(std::calloc(bytes + kAlignment, 1));
  if (!buffer->block)
    return failForLackOf(bytes, name);
  ::remat::adviseLargePages(buffer->block.get(), bytes + kAlignment);
  buffer->start = reinterpret_cast<void *>(llvm::alignTo(
      reinterpret_cast<uintptr_t>(buffer->block.get()), kAlignment));
  return buffer;
}

StepBuffer::~StepBuffer() {
  // Nobody is told if the device was lost.
  if (device)
    device->get().release(start);
}

Error StepBuffer::read(void *into) const {
  if (device)
    return toError(device->get().read(into, start, bytes));
  std::memcpy(into, start, bytes);
  return Error::success();
}

Error StepBuffer::write(const void *from) {
  if (device)
    return toError(device->get().write(start, from, bytes));
  std::memmove(start, from, bytes);
  return Error::success();
}
