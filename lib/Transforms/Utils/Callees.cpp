//===- Callees.cpp - What a part of a program calls -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

SmallVector<remat::CalledFunction>
remat::collectCalledFunctions(ModuleOp module) {
  SmallVector<CalledFunction> found;
  // Uses of symbols are looked for in every attribute of every operation.
  if (!module.walk([](func::CallOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    return found;
  SymbolTable symbols(module);
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module.getBodyRegion());
  if (!uses)
    return found;
  DenseMap<Operation *, unsigned> numberOf;
  for (SymbolTable::SymbolUse use : *uses) {
    auto function = symbols.lookup<func::FuncOp>(
        use.getSymbolRef().getRootReference().getValue());
    if (!function || !function.getBody().hasOneBlock() ||
        !isa<func::ReturnOp>(function.front().getTerminator()))
      continue;
    auto [it, isNew] = numberOf.try_emplace(function, found.size());
    if (isNew)
      found.push_back({function, {}, function.isPrivate()});
    if (auto call = dyn_cast<func::CallOp>(use.getUser()))
      found[it->second].calls.push_back(call);
    else
      found[it->second].isOnlyCalled = false;
  }
  llvm::erase_if(
      found, [](const CalledFunction &called) { return called.calls.empty(); });
  return found;
}

func::CallOp remat::createCallLike(func::CallOp call, func::FuncOp callee,
                                   ValueRange operands) {
  OpBuilder builder(call);
  auto other = func::CallOp::create(builder, call.getLoc(), callee, operands);
  other->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  return other;
}

void remat::eraseCalledResults(func::FuncOp function,
                               ArrayRef<func::CallOp> calls,
                               const BitVector &results) {
  function.front().getTerminator()->eraseOperands(results);
  (void)function.eraseResults(results);
  for (func::CallOp call : calls) {
    func::CallOp slim = createCallLike(call, function, call.getOperands());
    unsigned next = 0;
    for (OpResult result : call.getResults())
      if (!results.test(result.getResultNumber()))
        result.replaceAllUsesWith(slim.getResult(next++));
    call.erase();
  }
}
