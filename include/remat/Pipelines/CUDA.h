//===- CUDA.h - NVIDIA's GPUs as a target -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_PIPELINES_CUDA_H
#define REMAT_PIPELINES_CUDA_H

#include "remat/Pipelines/Target.h"

namespace mlir {
class OpPassManager;
namespace remat {

/// Appends the passes that take linalg on memrefs and what is around it to
/// kernels in one binary, and a host program in the LLVM dialect that launches
/// them by libremat_cuda_runtime.
void buildLowerToCUDAPipeline(OpPassManager &pm, const TargetOptions &options);

/// Registers the above as `remat-lower-to-cuda`, and the target `cuda`.
void registerCUDAPipelines();

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_CUDA_H
