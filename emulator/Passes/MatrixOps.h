//===- MatrixOps.h - Operations of warps on matrices ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_PASSES_MATRIXOPS_H
#define REMAT_EMULATOR_PASSES_MATRIXOPS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// Returns true if `op` is a product of matrices, or a load of their elements,
/// that the emulator has a function for.
bool isMatrixOp(Operation *op);

/// Replaces them by calls, and by loads of the thread's elements, which can be
/// instrumented. The functions have the thread's record as their last argument;
/// callees are declared in the module of `symbols`.
LogicalResult expandMatrixOps(gpu::GPUModuleOp kernels, SymbolTable &symbols);

} // namespace mlir::remat::emulator

#endif // REMAT_EMULATOR_PASSES_MATRIXOPS_H
