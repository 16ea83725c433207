//===- CallOrder.cpp - Functions, callees before callers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both the memory of results and arenas are decided callees first.
//===----------------------------------------------------------------------===//

#include "CallOrder.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Depth-first over the call graph, with the recursion it finds as a chain.
class Visitor {
public:
  using Callees =
      DenseMap<Operation *, SmallVector<std::pair<func::CallOp, func::FuncOp>>>;
  Visitor(const Callees &callees, SmallVectorImpl<func::FuncOp> &order)
      : callees(callees), order(order) {}

  LogicalResult visit(func::FuncOp function) {
    marks[function] = Mark::visiting;
    auto it = callees.find(function);
    if (it != callees.end())
      for (auto [call, callee] : it->second) {
        auto mark = marks.find(callee);
        if (mark == marks.end()) {
          if (failed(visit(callee)))
            return failure();
        } else if (mark->second == Mark::visiting) {
          return call.emitError("recursion through @")
                 << callee.getName()
                 << ": its memory has no fixed size; write it as a loop";
        }
      }
    marks[function] = Mark::done;
    order.push_back(function);
    return success();
  }

  bool isVisited(func::FuncOp function) const {
    return marks.contains(function);
  }

private:
  enum class Mark { visiting, done };
  const Callees &callees;
  SmallVectorImpl<func::FuncOp> &order;
  DenseMap<Operation *, Mark> marks;
};
} // namespace

LogicalResult CallOrder::compute(ModuleOp module) {
  SymbolTable symbols(module);
  Visitor::Callees callees;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    if (!function.getBody().hasOneBlock())
      return function.emitError(
          "has several blocks; lifetimes need structured control flow: run "
          "-lift-cf-to-scf first");
    Operation *terminator = function.front().getTerminator();
    if (!isa<func::ReturnOp>(terminator))
      return terminator->emitError()
             << "ends @" << function.getName() << " instead of a func.return";
    for (TypeRange types : {TypeRange(function.getArgumentTypes()),
                            TypeRange(function.getResultTypes())})
      if (llvm::any_of(types, llvm::IsaPred<TensorType>))
        return function.emitError()
               << "@" << function.getName()
               << " is still on tensors; run -one-shot-bufferize with "
                  "bufferize-function-boundaries first";
    function.walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isDeclaration())
        return;
      calls[callee].push_back(call);
      callees[function].push_back({call, callee});
    });
  }
  Visitor visitor(callees, functions);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration() && !visitor.isVisited(function) &&
        failed(visitor.visit(function)))
      return failure();
  return success();
}
