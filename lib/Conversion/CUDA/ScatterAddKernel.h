//===- ScatterAddKernel.h - A scatter-add as one kernel ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_SCATTERADDKERNEL_H
#define REMAT_LIB_CONVERSION_CUDA_SCATTERADDKERNEL_H

#include "../KernelTable.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::remat {

/// Makes the kernel and the launch of `op`, which is on memrefs; nothing if the
/// types tell that there is nothing to add.
void launchScatterAdd(OpBuilder &builder, KernelTable<gpu::GPUFuncOp> &table,
                      ScatterAddOp op, int64_t blockSize);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_SCATTERADDKERNEL_H
