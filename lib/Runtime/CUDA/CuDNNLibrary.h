//===- CuDNNLibrary.h - cuDNN, loaded --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CUDA_CUDNNLIBRARY_H
#define REMAT_RUNTIME_CUDA_CUDNNLIBRARY_H

#include "remat/CUDA/CuDNN.h"

#include <string>

namespace remat::cuda {

struct CuDNN {
#define REMAT_DECLARE(RESULT, NAME, PARAMETERS)                                \
  RESULT(*NAME) PARAMETERS = nullptr;
  REMAT_CUDNN_FUNCTIONS(REMAT_DECLARE)
#undef REMAT_DECLARE
  /// As in `9.13.0`.
  std::string version;

  /// Ends the program if the call failed; `context` follows the call's name.
  void check(cudnnStatus_t status, const char *call,
             const std::string &context) const;
  /// NVIDIA's library, or the emulator's; fails with what to install.
  static CuDNN load(bool isEmulated);
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_CUDNNLIBRARY_H
