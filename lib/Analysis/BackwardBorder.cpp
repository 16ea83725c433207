//===- BackwardBorder.cpp - Where the backward begins ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/BackwardBorder.h"

#include "remat/Analysis/OldValueReads.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

BackwardBorder::BackwardBorder(Operation *root) {
  // Where a function was inlined there may be several: the first counts.
  root->walk([&](BeginBackwardOp begin) {
    borders.try_emplace(begin->getBlock(), begin);
  });
}

bool BackwardBorder::isInBackward(Operation *op) const {
  for (; op && !borders.empty(); op = op->getParentOp())
    if (Operation *border = borders.lookup(op->getBlock()))
      return border->isBeforeInBlock(op) &&
             !op->hasTrait<OpTrait::IsTerminator>();
  return false;
}

/// Appends what `value` is computed from.
static void appendSources(Value value, SmallVectorImpl<Value> &sources) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument != loop.getInductionVar())
      sources.append({loop.getTiedLoopInit(argument)->get(),
                      loop.getTiedLoopYieldedValue(argument)->get()});
    return;
  }
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    sources.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep(),
                    loop.getTiedLoopRegionIterArg(cast<OpResult>(value))});
    return;
  }
  op->walk([&](Operation *inner) {
    llvm::append_range(sources, inner->getOperands());
  });
}

/// Returns true if the forward has no part in what makes the result.
static bool isOfBackward(func::FuncOp function, unsigned result) {
  auto updated = function.getResultAttrOfType<IntegerAttr>(
      result, RematDialect::getUpdatesAttrName());
  return function.getResultAttr(result,
                                RematDialect::getGradientOfAttrName()) ||
         (updated && isTrained(function.getArgument(updated.getInt())));
}

DenseSet<Operation *> mlir::remat::findForward(func::FuncOp function) {
  if (function->hasAttr(kWholeBackwardAttrName))
    return {};
  SmallVector<Value> pending;
  for (auto [index, value] :
       llvm::enumerate(function.front().getTerminator()->getOperands()))
    if (!isOfBackward(function, index))
      pending.push_back(value);
  DenseSet<Value> seen;
  DenseSet<Operation *> forward;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      forward.insert(op);
    appendSources(value, pending);
  }
  return forward;
}
