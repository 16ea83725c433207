//===- Callees.h - What a part of a program calls ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_CALLEES_H
#define REMAT_TRANSFORMS_UTILS_CALLEES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Appends the functions that something in `op` calls, directly or not.
void collectCalled(Operation *op, SymbolTableCollection &symbols,
                   llvm::SetVector<Operation *> &functions);

/// A function whose body is one block that ends in a func.return.
struct CalledFunction {
  func::FuncOp function;
  /// All of the module, in its order.
  SmallVector<func::CallOp> calls;
  /// True if nothing else can refer to it, so that its type may change.
  bool isOnlyCalled = true;
};

/// The functions of `module` that it calls.
SmallVector<CalledFunction> collectCalledFunctions(ModuleOp module);

/// A call of `callee` in front of `call`, with its location and attributes.
func::CallOp createCallLike(func::CallOp call, func::FuncOp callee,
                            ValueRange operands);

/// Drops `results`, which none of the `calls` needs, from `function` and them.
/// The calls are built anew.
void eraseCalledResults(func::FuncOp function, ArrayRef<func::CallOp> calls,
                        const BitVector &results);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_CALLEES_H
