//===- Callees.h - What a part of a program calls ---------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_UTILS_CALLEES_H
#define REMAT_TRANSFORMS_UTILS_CALLEES_H

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Appends the functions that something in `op` calls, directly or not.
void collectCalled(Operation *op, SymbolTableCollection &symbols,
                   llvm::SetVector<Operation *> &functions);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_CALLEES_H
