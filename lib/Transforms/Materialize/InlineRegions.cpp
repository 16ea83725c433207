//===- InlineRegions.cpp - Splice regions into their parents --------------===//
//
// Fusion, optimizer steps and scheduling work on flat blocks: a region that
// stayed closed would keep a recompute from fusing with its reader.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Materialize/Passes.h"
#include "remat/Transforms/Utils/Unreachable.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

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

/// Puts the body of `op` in its place.
static void inlineBody(Operation *op) {
  Block &body = op->getRegion(0).front();
  if (isa<BackwardOp>(op))
    markBackward(body);
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), op->getOperands()))
    argument.replaceAllUsesWith(operand);
  Operation *yield = body.getTerminator();
  for (auto [result, yielded] :
       llvm::zip_equal(op->getResults(), yield->getOperands()))
    result.replaceAllUsesWith(yielded);
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         body.getOperations());
  op->erase();
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
    for (Operation *op : ops) {
      if (auto plan = dyn_cast<PlanOp>(op)) {
        plan->replaceAllUsesWith(plan.getResiduals());
        plan->erase();
        continue;
      }
      if (isa<NameOp, StopGradientOp>(op)) {
        op->replaceAllUsesWith(op->getOperands());
        op->erase();
        continue;
      }
      inlineBody(op);
    }
  }
};
} // namespace
