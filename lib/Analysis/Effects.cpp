//===- Effects.cpp - What may run twice -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/Effects.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::hasNoEffectButAllocation(Operation *op) {
  if (isMemoryEffectFree(op))
    return true;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const auto &effect) {
           return isa<MemoryEffects::Allocate>(effect.getEffect());
         });
}

bool Effects::isPureFunction(func::FuncOp function) {
  if (impureFunctions.contains(function))
    return false;
  // A recursive function is what the rest of it is.
  if (!pureFunctions.insert(function).second)
    return true;
  // The border of a backward has an effect only to stay where it is.
  bool pure =
      function.isExternal()
          ? function->hasAttr("remat.pure")
          : llvm::all_of(function.getBody().getOps(), [&](Operation &op) {
              return isa<BeginBackwardOp>(op) || isPure(&op);
            });
  if (!pure) {
    impureFunctions.insert(function);
    // Its callers were assumed pure while it was not known.
    pureFunctions.clear();
  }
  return pure;
}

bool Effects::isPure(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto function =
        symbols.lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
    return function && isPureFunction(function);
  }
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    if (auto interface = dyn_cast<MemoryEffectOpInterface>(op);
        interface && !interface.hasNoEffect())
      return false;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        if (!isPure(&inner))
          return false;
    return true;
  }
  return op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op);
}

/// Operations with regions that only pass control: their effects are those of
/// what is inside.
static bool isTransparent(Operation *op) {
  return op->getNumRegions() != 0 &&
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
}

bool Effects::isReplayable(Operation *op, Operation *&culprit) {
  WalkResult result = op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (isPure(inner))
      return WalkResult::skip();
    if (isTransparent(inner))
      return WalkResult::advance();
    if (inner != op && inner->use_empty() && inner->getNumRegions() == 0)
      return WalkResult::skip();
    culprit = inner;
    return WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

void Effects::eraseEffects(Operation *copy) {
  SmallVector<Operation *> effects;
  copy->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (isPure(inner))
      return WalkResult::skip();
    if (isTransparent(inner))
      return WalkResult::advance();
    effects.push_back(inner);
    return WalkResult::skip();
  });
  for (Operation *effect : effects)
    effect->erase();
}
