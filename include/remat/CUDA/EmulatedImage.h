//===- EmulatedImage.h - Kernels for the emulated driver --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program for CUDA has one constant with its kernels, the "image" that it
// passes to cuModuleLoadData: a fatbin, or, if it was compiled with `emulate`,
// this. The emulated driver recognizes it by the magic. Layout as
// `remat-emulate-kernels` emits it.
//===----------------------------------------------------------------------===//

#ifndef REMAT_CUDA_EMULATEDIMAGE_H
#define REMAT_CUDA_EMULATEDIMAGE_H

#include <cstdint>

namespace remat::cuda {

/// "REMATEMU", little endian.
constexpr uint64_t kEmulatedImageMagic = 0x554D4554414D4552;
constexpr uint64_t kEmulatedImageVersion = 1;

/// Accesses of a thread of a kernel to the memory of a pointer argument.
enum class EmulatedAccess : int64_t {
  /// The argument is no pointer, or nothing is known about it.
  unknown = 0,
  read = 1,
  write = 2,
  readWrite = 3
};

struct EmulatedArgument {
  /// Size of the argument itself, in bytes.
  int64_t size;
  EmulatedAccess access;
  /// Bytes that may be accessed from the pointer on; -1 if not known.
  int64_t bytes;
};

struct EmulatedKernel {
  const char *name;
  /// Runs one thread. `arguments[i]` points to the value of argument i, as for
  /// cuLaunchKernel; `thread` is the thread's record (remat/Emulator/Thread.h).
  void (*run)(void *const *arguments, void *thread);
  /// Runs all threads of a block, one after the other, by the same function;
  /// null if they wait for each other. Overwrites the record's thread index.
  void (*runBlock)(void *const *arguments, void *thread);
  int64_t numArguments;
  const EmulatedArgument *arguments;
  /// 1 if threads wait for each other (barriers, shuffles), else 0.
  int64_t isCooperative;
  /// Workgroup memory that the kernel declares itself.
  int64_t sharedBytes;
  /// Threads in a block at most (nvvm.maxntid); 0 if it does not say.
  int64_t maxThreads;
};

struct EmulatedImage {
  uint64_t magic;
  uint64_t version;
  int64_t numKernels;
  const EmulatedKernel *kernels;
  /// 1 if accesses call the emulator's checks, else 0.
  int64_t isInstrumented;
};

} // namespace remat::cuda

#endif // REMAT_CUDA_EMULATEDIMAGE_H
