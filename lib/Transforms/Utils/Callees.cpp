//===- Callees.cpp - What a part of a program calls -----------------------===//

#include "remat/Transforms/Utils/Callees.h"

#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;

void remat::collectCalled(Operation *op, SymbolTableCollection &symbols,
                          llvm::SetVector<Operation *> &functions) {
  op->walk([&](CallOpInterface call) {
    Operation *callee = call.resolveCallableInTable(&symbols);
    if (callee && functions.insert(callee))
      collectCalled(callee, symbols, functions);
  });
}
