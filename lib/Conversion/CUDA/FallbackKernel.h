//===- FallbackKernel.h - Kernels of ops with any index map -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_FALLBACKKERNEL_H
#define REMAT_LIB_CONVERSION_CUDA_FALLBACKKERNEL_H

#include "../KernelTable.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Makes a kernel and a launch of `op`, whose index maps need not be linear.
void launchFallback(OpBuilder &builder, KernelTable<gpu::GPUFuncOp> &table,
                    linalg::LinalgOp op, int64_t blockSize);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_FALLBACKKERNEL_H
