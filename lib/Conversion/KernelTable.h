//===- KernelTable.h - Kernels that are compiled once -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of 48 equal layers has the kernels of one.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_KERNELTABLE_H
#define REMAT_LIB_CONVERSION_KERNELTABLE_H

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::remat {

/// Kernels of a symbol table, one for each different text.
template <typename KernelOp> class KernelTable {
public:
  explicit KernelTable(Operation *symbolTable) : symbols(symbolTable) {}

  /// The kernel that looks like `kernel`, which goes if there is one already.
  /// Kernels that look alike must have been given one name.
  KernelOp getOrInsert(KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream, OpPrintingFlags().useLocalScope());
    auto [entry, inserted] = kernels.try_emplace(text, kernel);
    if (inserted)
      symbols.insert(kernel);
    else
      kernel->erase();
    return entry->second;
  }

private:
  SymbolTable symbols;
  llvm::StringMap<KernelOp> kernels;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_KERNELTABLE_H
