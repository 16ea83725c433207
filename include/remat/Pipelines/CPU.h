//===- CPU.h - The CPU as a target ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_PIPELINES_CPU_H
#define REMAT_PIPELINES_CPU_H

namespace mlir {
class OpPassManager;
namespace remat {

/// Appends the passes that take linalg on memrefs, memref, scf, vector, arith,
/// math and func to the LLVM dialect, as `mlir-runner` expects it. What has to
/// be known before memory is packed (workspaces) is not part of it.
void buildLowerToCPUPipeline(OpPassManager &pm);

/// Registers the above as `remat-lower-to-cpu`, and the target `cpu`.
void registerCPUPipelines();

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_CPU_H
