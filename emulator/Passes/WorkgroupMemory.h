//===- WorkgroupMemory.h - A block's memory from its record -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_PASSES_WORKGROUPMEMORY_H
#define REMAT_EMULATOR_PASSES_WORKGROUPMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

bool isWorkgroupMemory(LLVM::GlobalOp global);

/// Workgroup memory that each kernel declares, in bytes.
using SharedBytes = llvm::MapVector<LLVM::LLVMFuncOp, int64_t>;

/// Lays out the workgroup memory of each kernel in `kernels`, and replaces the
/// addresses of its variables by offsets into the block's memory. Erases the
/// variables. `device` has the symbols of `kernels`.
FailureOr<SharedBytes> lowerWorkgroupMemory(gpu::GPUModuleOp kernels,
                                            SymbolTable &device);

/// Functions of `device` that `function` may run, itself first.
SmallVector<LLVM::LLVMFuncOp> getReachable(LLVM::LLVMFuncOp function,
                                           const SymbolTable &device);

bool isKernel(LLVM::LLVMFuncOp function);

} // namespace mlir::remat::emulator

#endif // REMAT_EMULATOR_PASSES_WORKGROUPMEMORY_H
