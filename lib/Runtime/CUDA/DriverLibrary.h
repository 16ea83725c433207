//===- DriverLibrary.h - The driver, loaded --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of the driver's functions: NVIDIA's, the emulator's, or a test's.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_DRIVERLIBRARY_H
#define REMAT_RUNTIME_CUDA_DRIVERLIBRARY_H

#include "remat/CUDA/Driver.h"

#include <string>

namespace remat::cuda {

struct Driver {
#define REMAT_DECLARE(NAME, PARAMETERS) CUresult(*NAME) PARAMETERS = nullptr;
  REMAT_CUDA_DRIVER_FUNCTIONS(REMAT_DECLARE)
#undef REMAT_DECLARE
  bool isEmulated = false;

  /// Ends the program with one line if the call failed.
  void check(CUresult result, const char *call) const {
    if (result != CUDA_SUCCESS)
      fail(result, call, "");
  }
  /// Waits for the stream; names what to do if a kernel on it failed.
  void wait(CUstream stream) const;
  /// `context` follows the call's name, as in " for kernel 'k' at m.mlir:1:2".
  [[noreturn]] void fail(CUresult result, const char *call,
                         const std::string &context) const;
  /// `CUDA_ERROR_X: text`.
  std::string describe(CUresult result) const;
};

/// NVIDIA's driver or the emulator. Fails with what is missing.
Driver loadDriver(bool isEmulated);
bool isEmulatedImage(const void *image);

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_DRIVERLIBRARY_H
