//===- Interface.cpp - What compiled programs for CUDA call ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C functions. Commands are appended and run later, in order; `where` is a
// source location for messages. Strings are constants of the program.
//===----------------------------------------------------------------------===//

#include "MemRef.h"
#include "Session.h"

#include <limits>

using namespace remat;
using namespace remat::cuda;

static CUdeviceptr toAddress(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

static size_t toSize(int64_t bytes, const char *what) {
  if (bytes < 0)
    fail(std::string(what) + " gets " + std::to_string(bytes) + " bytes");
  return static_cast<size_t>(bytes);
}

/// Chooses the driver that runs `image`, and loads its kernels. Programs call
/// it before anything else: buffers are allocated with that driver.
REMAT_EXPORT void *remat_cuda_module(const void *image) {
  return session(image).kernels.load(image);
}

/// kinds[i] says what values[i] is: 'p', 8 bytes by value; 'w', 4 bytes by
/// value; 's', a scalar of 8 bytes that changes from step to step, of which the
/// kernel gets the address; 'v', the same with 16 bytes at the host's address
/// values[i].
REMAT_EXPORT void remat_cuda_launch(const void *image, const char *name,
                                    const char *where, int64_t gridX,
                                    int64_t gridY, int64_t gridZ,
                                    int64_t blockX, int64_t blockY,
                                    int64_t blockZ, int64_t sharedBytes,
                                    int64_t numArguments, const char *kinds,
                                    const uint64_t *values) {
  int64_t sizes[] = {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes};
  for (int64_t size : sizes)
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      fail("a size of " + std::to_string(size) + " in a launch" +
           describeKernel(name, where) + " is not in 0..2^31-1");
  if (gridX * gridY == 0 || gridZ == 0)
    return;
  Session &current = session(image);
  LaunchShape shape = {{uint32_t(gridX), uint32_t(gridY), uint32_t(gridZ)},
                       {uint32_t(blockX), uint32_t(blockY), uint32_t(blockZ)},
                       uint32_t(sharedBytes)};
  const Kernel &kernel = current.kernels.get(image, name, where, sharedBytes);
  current.launch(kernel, shape, {numArguments, kinds, values}, where);
}

/// Device to host; waits.
REMAT_EXPORT void remat_cuda_read(void *to, const void *from, int64_t bytes) {
  session().download(to, toAddress(from), toSize(bytes, "remat_cuda_read"));
}

/// Host to device; `from` may change at once.
REMAT_EXPORT void remat_cuda_write(void *to, const void *from, int64_t bytes) {
  session().write(toAddress(to), from, toSize(bytes, "remat_cuda_write"));
}

/// Device to device.
REMAT_EXPORT void remat_cuda_copy(void *to, const void *from, int64_t bytes) {
  session().copy(toAddress(to), toAddress(from),
                 toSize(bytes, "remat_cuda_copy"));
}

/// The device's address of a constant of the program.
REMAT_EXPORT void *remat_cuda_constant(const void *host, int64_t bytes) {
  return reinterpret_cast<void *>(
      session().constant(host, toSize(bytes, "remat_cuda_constant")));
}

/// Memory for a buffer of dynamic shape, at a multiple of 256 bytes.
REMAT_EXPORT void *remat_cuda_alloc(int64_t bytes) {
  return reinterpret_cast<void *>(
      session().pool.allocate(toSize(bytes, "remat_cuda_alloc")));
}

/// Commands that were appended before may still use the memory.
REMAT_EXPORT void remat_cuda_free(void *pointer) {
  if (pointer)
    session().pool.free(toAddress(pointer));
}

/// `condition` is a byte on the device. If it is 0, the program ends with the
/// message when the host next fetches a loss, before it writes a checkpoint.
REMAT_EXPORT void remat_cuda_assert(const void *condition, const char *message,
                                    const char *where) {
  session().assertByte(toAddress(condition), {message, where});
}
