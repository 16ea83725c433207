//===- Override.cpp - Variants of a model without editing it --------------===//
//
// Comparing policies and modes is what most runs are about; a file per variant
// would have to be kept equal by hand.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_OVERRIDEPASS
#include "remat/Pipelines/Passes.h.inc"

namespace {

/// Puts the operations of a region where it stands.
void inlineRegion(RegionOp region) {
  Block *body = region.getBodyBlock();
  YieldOp yield = region.getYield();
  for (auto [argument, input] :
       llvm::zip(body->getArguments(), region.getInputs()))
    argument.replaceAllUsesWith(input);
  for (auto [result, value] :
       llvm::zip(region.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(value);
  yield.erase();
  region->getBlock()->getOperations().splice(region->getIterator(),
                                             body->getOperations());
  region.erase();
}

/// Whether `region` has every name that `policy` mentions: one that mentions
/// others would be refused there.
bool hasNamesOf(PolicyAttrInterface policy, RegionOp region) {
  SmallVector<StringAttr> names;
  policy.collectNames(names);
  return llvm::all_of(names, [&](StringAttr name) {
    return region
        .walk([&](NameOp op) {
          return op.getNameAttr() == name ? WalkResult::interrupt()
                                          : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

struct OverridePass : public impl::OverridePassBase<OverridePass> {
  using OverridePassBase::OverridePassBase;

  void runOnOperation() override {
    if (failed(overridePolicy()) || failed(overrideMode()))
      signalPassFailure();
  }

private:
  LogicalResult overridePolicy() {
    if (policy.empty())
      return success();
    if (policy == "none") {
      getOperation().walk([](Operation *op) {
        if (auto region = dyn_cast<RegionOp>(op)) {
          inlineRegion(region);
        } else if (auto name = dyn_cast<NameOp>(op)) {
          name.getResult().replaceAllUsesWith(name.getValue());
          name.erase();
        }
      });
      return success();
    }
    FailureOr<PolicyAttrInterface> attribute =
        parsePolicy(getOperation().getLoc(), policy, "none, ");
    if (failed(attribute))
      return failure();
    getOperation().walk([&](RegionOp region) {
      if (hasNamesOf(*attribute, region))
        region.setPolicyAttr(*attribute);
      else
        region.emitRemark("keeps its policy: no remat.name in it is one of "
                          "those that ")
            << *attribute << " mentions";
    });
    return success();
  }

  LogicalResult overrideMode() {
    if (mode.empty())
      return success();
    if (mode != "eager" && mode != "deferred")
      return emitError(getOperation().getLoc(), "unknown mode=")
             << mode.getValue() << "; choose eager or deferred";
    WalkResult result = getOperation().walk([&](TrainStepOp step) {
      if (mode == "eager" &&
          (step.getClipGlobalNorm() || step.getAccumulate() > 1)) {
        step.emitError("mode=eager contradicts clip_global_norm and "
                       "accumulate, which need every gradient: leave the mode "
                       "to the model, or say mode=deferred");
        return WalkResult::interrupt();
      }
      step.setEager(mode == "eager");
      step.setDeferred(mode == "deferred");
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
} // namespace mlir::remat
