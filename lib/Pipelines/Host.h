//===- Host.h - From loops on the host to LLVM ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_PIPELINES_HOST_H
#define REMAT_LIB_PIPELINES_HOST_H

#include <memory>

namespace mlir {
class OpPassManager;
namespace remat {

/// Appends the passes that take scf, memref, vector, arith, math and func to
/// the LLVM dialect, as `mlir-runner` expects it.
void addHostLowering(OpPassManager &pm);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_PIPELINES_HOST_H
