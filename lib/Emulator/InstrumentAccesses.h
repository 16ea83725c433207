//===- InstrumentAccesses.h - A call before each access ---------*- C++ -*-===//

#ifndef REMAT_LIB_EMULATOR_INSTRUMENTACCESSES_H
#define REMAT_LIB_EMULATOR_INSTRUMENTACCESSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// Precedes each access to memory that threads share by a call of the emulator.
/// A thread's own memory (`llvm.alloca`) and constants are left out.
LogicalResult instrumentAccesses(gpu::GPUModuleOp kernels,
                                 SymbolTable &symbols);

} // namespace mlir::remat::emulator

#endif // REMAT_LIB_EMULATOR_INSTRUMENTACCESSES_H
