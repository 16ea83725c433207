//===- Chip.h - The device that a run uses ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CUDA_CHIP_H
#define REMAT_RUNTIME_CUDA_CHIP_H

#include "DriverLibrary.h"

namespace remat::cuda {

/// The first device, its context current in this thread.
struct Chip {
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::string name;
  /// As in `sm_90`.
  std::string architecture;
  /// As in `13.0`.
  std::string driverVersion;
  /// The most workgroup memory that one block may have.
  int sharedBytes = 0;

  /// Fails without a device, or if the driver is too old.
  static Chip open(const Driver &driver);
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_CHIP_H
