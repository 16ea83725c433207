//===- InlineRegions.cpp - Splice regions into their parents --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fusion, optimizer steps and scheduling work on flat blocks: a region that
// stayed closed would keep a recompute from fusing with its reader.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Borders.h"
#include "remat/Transforms/Materialize/Passes.h"
#include "remat/Transforms/Utils/Unreachable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "remat/Analysis/BackwardBorder.h"

namespace mlir::remat {
#define GEN_PASS_DEF_INLINEREGIONS
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Phases belong to whole operations of the step, not to a kernel's scalars.
static void markBackward(Block &block) {
  block.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>() && getPhase(op).empty())
      setPhase(op, kBackwardPhase);
    return isa<DestinationStyleOpInterface>(op) ? WalkResult::skip()
                                                : WalkResult::advance();
  });
}

/// Marks where the backward of a joint function begins that was written by
/// hand, or by another tool.
static void markBorder(func::FuncOp function, const BackwardBorder &border) {
  function.walk([&](BackwardOp backward) {
    if (border.isInBackward(backward))
      return WalkResult::interrupt();
    Operation *first = backward;
    while (first->getParentOp() != function)
      first = first->getParentOp();
    OpBuilder builder(first);
    BeginBackwardOp::create(builder, backward.getLoc());
    return WalkResult::interrupt();
  });
}

/// Leaves the decisions about values that policies name.
static void keepNamed(PlanOp plan) {
  OpBuilder builder(plan);
  for (unsigned i = 0; i < plan.getResiduals().size(); ++i)
    if (plan.getDecision(i).getKind() == DecisionKind::SaveNamed)
      SavedOp::create(builder, plan.getLoc(), plan.getResiduals()[i],
                      plan.getDecision(i));
}

namespace {
struct InlineRegionsPass : remat::impl::InlineRegionsBase<InlineRegionsPass> {
  void runOnOperation() override {
    bool changed = eraseUnreachable(getOperation());
    // Inner ones first: each operation then moves once for each region around
    // it, in constant time.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<RegionOp, BackwardOp, NameOp, StopGradientOp, PlanOp>(op))
        ops.push_back(op);
    });
    if (ops.empty() && !changed)
      return markAllAnalysesPreserved();
    auto module = dyn_cast<ModuleOp>(getOperation());
    bool isBounded = module && hasBudget(module);
    BackwardBorder border(getOperation());
    getOperation()->walk(
        [&](func::FuncOp function) { markBorder(function, border); });
    for (Operation *op : ops) {
      if (auto plan = dyn_cast<PlanOp>(op)) {
        if (isBounded)
          keepNamed(plan);
        plan->replaceAllUsesWith(plan.getResiduals());
        plan->erase();
        continue;
      }
      if (isa<NameOp, StopGradientOp>(op)) {
        op->replaceAllUsesWith(op->getOperands());
        op->erase();
        continue;
      }
      if (isa<BackwardOp>(op))
        markBackward(op->getRegion(0).front());
      inlineBody(op);
    }
  }
};
} // namespace
