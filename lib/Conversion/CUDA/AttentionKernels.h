//===- AttentionKernels.h - Attention and its backward ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_ATTENTIONKERNELS_H
#define REMAT_LIB_CONVERSION_CUDA_ATTENTIONKERNELS_H

#include "../KernelTable.h"
#include "AttentionPlan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::remat {

/// Launches the kernels of `op`, which stays. `traffic`: they say what they
/// move.
void launchAttention(OpBuilder &builder, KernelTable<gpu::GPUFuncOp> &table,
                     AttentionOp op, const AttentionPlan &plan, bool traffic);
/// The same for the backward. `isZero` says which of its destinations hold
/// zeros that need not be read.
void launchAttentionBackward(OpBuilder &builder,
                             KernelTable<gpu::GPUFuncOp> &table,
                             AttentionBackwardOp op, const AttentionPlan &plan,
                             ArrayRef<bool> isZero, bool traffic);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_ATTENTIONKERNELS_H
