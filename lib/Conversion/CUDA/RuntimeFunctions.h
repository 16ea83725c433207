//===- RuntimeFunctions.h - Calls of the CUDA runtime -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libremat_cuda_runtime take numbers and pointers, no memrefs.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_RUNTIMEFUNCTIONS_H
#define REMAT_LIB_CONVERSION_CUDA_RUNTIMEFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::remat {

/// Calls `name`, and declares it before the first call, without a C interface.
func::CallOp callCUDARuntime(OpBuilder &builder, Location loc,
                             SymbolTable &symbols, StringRef name,
                             ValueRange operands, TypeRange results = {});

/// Texts of a module as constants that end with a 0, each of them once.
class TextTable {
public:
  explicit TextTable(SymbolTable &symbols) : symbols(symbols) {}

  /// A pointer to `text`.
  Value get(OpBuilder &builder, Location loc, StringRef text);

private:
  SymbolTable &symbols;
  llvm::StringMap<StringAttr> names;
};

/// Memory of `count` words on the stack of the function around the insertion
/// point, made once, however often what follows runs.
Value allocateOnStack(OpBuilder &builder, Location loc, int64_t count);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_RUNTIMEFUNCTIONS_H
