//===- KernelEmitter.h - The loops of a kernel ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CPU_KERNELEMITTER_H
#define REMAT_LIB_CONVERSION_CPU_KERNELEMITTER_H

#include "../LoopEmitter.h"
#include "KernelPlan.h"

namespace mlir::remat {

/// Emits the loops of `plan` around `body` at the builder's insertion point.
void emitKernelLoops(OpBuilder &builder, const LoopNest &nest,
                     const KernelPlan &plan, KernelBody &body);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CPU_KERNELEMITTER_H
