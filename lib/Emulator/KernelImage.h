//===- KernelImage.h - The table of a module's kernels ----------*- C++ -*-===//

#ifndef REMAT_LIB_EMULATOR_KERNELIMAGE_H
#define REMAT_LIB_EMULATOR_KERNELIMAGE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// A kernel that is a function of the host by now.
struct HostKernel {
  /// As the program asks for it.
  std::string name;
  LLVM::LLVMFuncOp function;
  bool isCooperative;
  int64_t sharedBytes;
  int64_t maxThreads;
  /// `remat.access` and `remat.bytes` of each argument, or null.
  SmallVector<DictionaryAttr> arguments;
};

/// Makes the functions that unpack a kernel's arguments, and the constant
/// `name` of type `EmulatedImage`.
LogicalResult createImage(Location loc, StringRef name,
                          MutableArrayRef<HostKernel> kernels,
                          bool isInstrumented, SymbolTable &symbols);

} // namespace mlir::remat::emulator

#endif // REMAT_LIB_EMULATOR_KERNELIMAGE_H
