//===- CallOrder.h - Functions, callees before callers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both the memory of results and arenas are decided callees first.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PACKMEMORY_CALLORDER_H
#define REMAT_TRANSFORMS_PACKMEMORY_CALLORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {

class CallOrder {
public:
  /// Fails, after a diagnostic, on recursion, on unstructured control flow and
  /// on functions that are still on tensors.
  LogicalResult compute(ModuleOp module);

  /// Functions with a body, callees first, otherwise in the module's order.
  ArrayRef<func::FuncOp> getFunctions() const { return functions; }
  /// The calls of `function` in the module, in order.
  ArrayRef<func::CallOp> getCalls(func::FuncOp function) const {
    auto it = calls.find(function);
    return it == calls.end() ? ArrayRef<func::CallOp>() : it->second;
  }
  bool isCalled(func::FuncOp function) const {
    return !getCalls(function).empty();
  }

private:
  SmallVector<func::FuncOp> functions;
  DenseMap<Operation *, SmallVector<func::CallOp>> calls;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_CALLORDER_H
