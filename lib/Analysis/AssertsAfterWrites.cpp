//===- AssertsAfterWrites.cpp - Steps that fail with half an update -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/AssertsAfterWrites.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::remat;

/// Memory that outlives a step, and values through which it may be reached.
static DenseSet<Value> findKeptMemory(func::FuncOp step) {
  DenseSet<Value> kept;
  for (BlockArgument argument : step.getArguments()) {
    for (StringRef name : {opt::OptDialect::getParamAttrName(),
                           opt::OptDialect::getStateAttrName(),
                           RematDialect::getStateAttrName()})
      if (step.getArgAttr(argument.getArgNumber(), name))
        kept.insert(argument);
  }
  auto keep = [&](ValueRange values) {
    for (Value value : values)
      if (isa<BaseMemRefType>(value.getType()))
        kept.insert(value);
  };
  // Loops hand on what they yield: what they got, or another kept value.
  for (size_t before = 0; before != kept.size();) {
    before = kept.size();
    step.walk([&](Operation *op) {
      if (!llvm::any_of(op->getOperands(),
                        [&](Value value) { return kept.contains(value); }))
        return;
      if (isa<ViewLikeOpInterface>(op) || op->getNumRegions() > 0 ||
          isa<CallOpInterface>(op))
        keep(op->getResults());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          keep(block.getArguments());
      if (op->hasTrait<OpTrait::IsTerminator>())
        keep(op->getParentOp()->getResults());
    });
  }
  return kept;
}

/// Returns true if `op` itself writes kept memory; a call may. Of loops and
/// branches, the operations inside are asked.
static bool writesKept(Operation *op, const DenseSet<Value> &kept) {
  auto isKept = [&](Value value) { return kept.contains(value); };
  if (!llvm::any_of(op->getOperands(), isKept) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return llvm::any_of(instances, [&](MemoryEffects::EffectInstance &instance) {
    return isa<MemoryEffects::Write>(instance.getEffect()) &&
           (!instance.getValue() || isKept(instance.getValue()));
  });
}

/// Returns true if `op` may fail: an assertion, or a call of a function that
/// has one or calls others.
static bool mayFail(Operation *op) {
  if (isa<cf::AssertOp>(op))
    return true;
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return false;
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, call.getCalleeAttr());
  auto find = [](Operation *inner) {
    return isa<cf::AssertOp, func::CallOp>(inner) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
  };
  return callee && callee.getBody().walk(find).wasInterrupted();
}

bool mlir::remat::hasAssertAfterWrite(func::FuncOp step) {
  DenseSet<Value> kept = findKeptMemory(step);
  auto writes = [&](Operation *op) { return writesKept(op, kept); };
  bool hasWrite = false, result = false;
  step.walk<WalkOrder::PreOrder>([&](Operation *op) {
    hasWrite |= writes(op);
    if (!mayFail(op))
      return;
    result |= hasWrite;
    // In a loop, one iteration's writes precede the next one's assertions.
    for (Operation *loop = op->getParentOp(); loop != step;
         loop = loop->getParentOp())
      result |= loop->walk([&](Operation *inner) {
                      return writes(inner) ? WalkResult::interrupt()
                                           : WalkResult::advance();
                    })
                    .wasInterrupted();
  });
  return result;
}
