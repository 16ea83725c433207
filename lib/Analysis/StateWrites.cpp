//===- StateWrites.cpp - Where a step begins to change states -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "remat/Analysis/StateWrites.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns values of `function` through which the memory of `roots`, arguments
/// of it, may be reached.
static DenseSet<Value> findAliases(func::FuncOp function,
                                   ArrayRef<Value> roots) {
  DenseSet<Value> aliases(llvm::from_range, roots);
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (isa<BaseMemRefType>(value.getType()))
        aliases.insert(value);
  };
  // Loops hand on what they yield: what they got, or another such value.
  for (size_t before = 0; before != aliases.size();) {
    before = aliases.size();
    function.walk([&](Operation *op) {
      if (!llvm::any_of(op->getOperands(),
                        [&](Value value) { return aliases.contains(value); }))
        return;
      if (isa<ViewLikeOpInterface>(op) || op->getNumRegions() > 0 ||
          isa<CallOpInterface>(op))
        add(op->getResults());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          add(block.getArguments());
      if (op->hasTrait<OpTrait::IsTerminator>())
        add(op->getParentOp()->getResults());
    });
  }
  return aliases;
}

namespace {
/// Asks what functions do with the memory that they get.
class WriteFinder {
public:
  /// Returns the first operation in the body of `function` that may write
  /// memory of `roots`.
  Operation *find(func::FuncOp function, ArrayRef<Value> roots) {
    if (roots.empty())
      return nullptr;
    DenseSet<Value> aliases = findAliases(function, roots);
    for (Operation &op : function.front()) {
      WalkResult result = op.walk([&](Operation *inner) {
        return writes(inner, aliases) ? WalkResult::interrupt()
                                      : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return &op;
    }
    return nullptr;
  }

private:
  /// Returns true if `op` itself may write: of loops and branches, the
  /// operations inside are asked.
  bool writes(Operation *op, const DenseSet<Value> &aliases) {
    auto isAlias = [&](Value value) { return aliases.contains(value); };
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        llvm::none_of(op->getOperands(), isAlias))
      return false;
    if (auto call = dyn_cast<func::CallOp>(op))
      return llvm::any_of(call->getOpOperands(), [&](OpOperand &operand) {
        return isAlias(operand.get()) &&
               writesArgument(call, operand.getOperandNumber());
      });
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    return llvm::any_of(
        instances, [&](MemoryEffects::EffectInstance &instance) {
          return isa<MemoryEffects::Write>(instance.getEffect()) &&
                 (!instance.getValue() || isAlias(instance.getValue()));
        });
  }

  bool writesArgument(func::CallOp call, unsigned number) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee)
      return true;
    if (callee.isExternal()) {
      auto access = callee.getArgAttrOfType<StringAttr>(number, "remat.access");
      return !access || access != "read";
    }
    // A recursive call writes nothing that the outermost one does not.
    Value argument = callee.getArgument(number);
    if (auto known = isWritten.find(argument); known != isWritten.end())
      return known->second;
    isWritten[argument] = false;
    bool result = find(callee, argument) != nullptr;
    return isWritten[argument] = result;
  }

  DenseMap<Value, bool> isWritten;
};
} // namespace

Operation *mlir::remat::findFirstStateWrite(func::FuncOp step) {
  SmallVector<Value> roots;
  for (BlockArgument argument : step.getArguments())
    if (llvm::any_of(ArrayRef{opt::OptDialect::getParamAttrName(),
                              opt::OptDialect::getStateAttrName(),
                              RematDialect::getStateAttrName()},
                     [&](StringRef name) {
                       return step.getArgAttr(argument.getArgNumber(), name);
                     }))
      roots.push_back(argument);
  return WriteFinder().find(step, roots);
}
