//===- KernelImage.h - The table of a module's kernels ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_PASSES_KERNELIMAGE_H
#define REMAT_EMULATOR_PASSES_KERNELIMAGE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// The attributes of a kernel's argument; null where it has none.
struct ArgumentInfo {
  /// "read", "write" or "read_write".
  StringAttr access;
  IntegerAttr bytes;
};

/// A kernel that is a function of the host by now.
struct HostKernel {
  /// As the program asks for it.
  std::string name;
  LLVM::LLVMFuncOp function;
  bool isCooperative;
  int64_t sharedBytes;
  int64_t maxThreads;
  SmallVector<ArgumentInfo> arguments;
};

/// Makes the functions that unpack a kernel's arguments, and the constant
/// `name` of type `EmulatedImage`.
LogicalResult createImage(Location loc, StringRef name,
                          MutableArrayRef<HostKernel> kernels,
                          bool isInstrumented, SymbolTable &symbols);

} // namespace mlir::remat::emulator

#endif // REMAT_EMULATOR_PASSES_KERNELIMAGE_H
