//===- LowerDeviceOps.h - NVVM and libdevice on a host ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_PASSES_LOWERDEVICEOPS_H
#define REMAT_EMULATOR_PASSES_LOWERDEVICEOPS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// Returns true if `op` is emulated by fibers, which can wait: a barrier, an
/// operation of a warp, or an asynchronous copy.
bool isCooperative(Operation *op);

/// Emits an error for every operation in `kernels` that has no emulation.
/// `device` has the symbols of `kernels`.
LogicalResult checkDeviceOps(gpu::GPUModuleOp kernels,
                             const SymbolTable &device);

/// Replaces the operations of the `nvvm` dialect and the calls of libdevice.
/// The functions have the thread's record as their last argument; callees are
/// declared in the module of `symbols`.
LogicalResult lowerDeviceOps(gpu::GPUModuleOp kernels, SymbolTable &symbols);

} // namespace mlir::remat::emulator

#endif // REMAT_EMULATOR_PASSES_LOWERDEVICEOPS_H
