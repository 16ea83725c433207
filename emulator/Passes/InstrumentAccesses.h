//===- InstrumentAccesses.h - A call before each access ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_PASSES_INSTRUMENTACCESSES_H
#define REMAT_EMULATOR_PASSES_INSTRUMENTACCESSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// Precedes each access to memory that threads share by a call of the emulator.
/// A thread's own memory (`llvm.alloca`) and constants are left out.
/// `device` has the symbols of `kernels`, `symbols` those of its module.
LogicalResult instrumentAccesses(gpu::GPUModuleOp kernels,
                                 const SymbolTable &device,
                                 SymbolTable &symbols);

} // namespace mlir::remat::emulator

#endif // REMAT_EMULATOR_PASSES_INSTRUMENTACCESSES_H
