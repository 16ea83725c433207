//===- CublasLtLibrary.h - cuBLASLt, loaded --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CUDA_CUBLASLTLIBRARY_H
#define REMAT_RUNTIME_CUDA_CUBLASLTLIBRARY_H

#include "remat/CUDA/CublasLt.h"

#include <string>

namespace remat::cuda {

struct CublasLt {
#define REMAT_DECLARE(RESULT, NAME, PARAMETERS)                                \
  RESULT(*NAME) PARAMETERS = nullptr;
  REMAT_CUBLASLT_FUNCTIONS(REMAT_DECLARE)
#undef REMAT_DECLARE
  /// As in `13.0.2`.
  std::string version;

  /// Ends the program if the call failed; `context` follows the call's name.
  void check(cublasStatus_t status, const char *call,
             const std::string &context) const;
  /// NVIDIA's library, or the emulator's; fails with what to install.
  static CublasLt load(bool isEmulated);
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_CUBLASLTLIBRARY_H
