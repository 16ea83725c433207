//===- Kernels.h - The kernels of a program's image ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CUDA_KERNELS_H
#define REMAT_RUNTIME_CUDA_KERNELS_H

#include "Chip.h"

#include <map>
#include <memory>
#include <unordered_map>

namespace remat::cuda {

struct Kernel {
  std::string name;
  CUfunction function = nullptr;
  /// Workgroup memory that the kernel declares, and how much dynamic memory it
  /// may be launched with.
  int staticSharedBytes = 0;
  int64_t dynamicSharedBytes = 48 << 10;
};

/// Loads images when a kernel of theirs is wanted, once.
class Kernels {
public:
  Kernels(const Driver &driver, const Chip &chip)
      : driver(driver), chip(chip) {}
  ~Kernels();
  Kernels(const Kernels &) = delete;

  CUmodule load(const void *image);
  /// Fails, with the place, if the image has no such kernel or if it cannot
  /// have so much workgroup memory on this chip.
  const Kernel &get(const void *image, const char *name, const char *where,
                    int64_t sharedBytes);

private:
  Kernel &find(const void *image, const char *name, const char *where);
  void allowSharedMemory(Kernel &kernel, const char *where, int64_t bytes);

  const Driver &driver;
  const Chip &chip;
  std::map<const void *, CUmodule> modules;
  std::map<std::pair<const void *, std::string>, Kernel> kernels;
  /// By the address of the name, which is a constant of the program.
  std::unordered_map<const char *, std::pair<const void *, Kernel *>> recent;
};

/// ` for kernel 'k' at m.mlir:12:3`.
std::string describeKernel(const std::string &name, const char *where);

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_KERNELS_H
