//===- Override.cpp - Variants of a model without editing it --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparing policies and modes is what most runs are about; a file per variant
// would have to be kept equal by hand.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Dialect/Remat/IR/RegionAttributes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Plan/Budget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

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

/// The names that operations in `op` carry.
SetVector<StringRef> getNames(Operation *op) {
  SetVector<StringRef> names;
  op->walk([&](NameOp name) { names.insert(name.getName()); });
  return names;
}

struct OverridePass : public impl::OverridePassBase<OverridePass> {
  using OverridePassBase::OverridePassBase;

  void runOnOperation() override {
    if (failed(checkTrainStep()) || failed(overridePolicy()) ||
        failed(overrideMode()) || failed(overrideBudget()))
      signalPassFailure();
  }

private:
  LogicalResult checkTrainStep();
  LogicalResult overrideBudget();
  LogicalResult overridePolicy() {
    if (policy.empty())
      return success();
    if (policy == "none") {
      getOperation().walk([](Operation *op) {
        if (auto region = dyn_cast<RegionOp>(op)) {
          if (!region->hasAttr(kAlwaysAttrName))
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
    SmallVector<std::pair<RegionOp, SetVector<StringRef>>> regions;
    getOperation().walk([&](RegionOp region) {
      regions.emplace_back(region, getNames(region));
    });
    if (regions.empty()) {
      emitWarning(getOperation().getLoc(), "policy=")
          << policy.getValue()
          << " has no effect: there is no remat.region; put the layers into "
             "some, or have remat-annotate do it";
      return success();
    }

    // A region refuses a policy that mentions names of others.
    SmallVector<StringAttr> mentioned;
    attribute->collectNames(mentioned);
    SetVector<StringRef> known;
    for (auto &[region, names] : regions)
      known.insert_range(names);
    for (StringAttr name : mentioned) {
      if (known.contains(name.getValue()))
        continue;
      InFlightDiagnostic error = emitError(getOperation().getLoc(), "policy=")
                                 << policy.getValue() << " mentions " << name
                                 << ", which no remat.name in a region says; ";
      if (known.empty())
        return error << "there are none";
      return error << "there are "
                   << listNearestFirst(name.getValue(), known.getArrayRef());
    }
    for (auto &[region, names] : regions)
      if (llvm::all_of(mentioned, [&names = names](StringAttr name) {
            return names.contains(name.getValue());
          }))
        region.setPolicyAttr(*attribute);
      else
        region.emitRemark("keeps its policy: it has not all names that ")
            << *attribute << " mentions";
    return success();
  }

  LogicalResult overrideMode() {
    if (mode.empty())
      return success();
    if (mode != "eager" && mode != "deferred")
      return emitError(getOperation().getLoc(), "unknown mode=")
             << mode.getValue() << "; choose eager or deferred";
    getOperation().walk([&](TrainStepOp step) {
      step.setEager(mode == "eager");
      step.setDeferred(mode == "deferred");
    });
    return success();
  }
};

/// Refuses what only a train step can have if there are functions but none of
/// them is trained.
LogicalResult OverridePass::checkTrainStep() {
  auto functions = getOperation().getOps<func::FuncOp>();
  if (functions.empty() || !getOperation().getOps<TrainStepOp>().empty())
    return success();
  for (const auto *option : {&mode, &budget, &budgetOf, &slowdown}) {
    if (option->empty())
      continue;
    func::FuncOp first = *functions.begin();
    return first.emitError(option->getArgStr())
           << "=" << option->getValue()
           << " has no effect: there is no remat.train_step; write "
              "'remat.train_step @step for @"
           << first.getName()
           << " optimizer(@sgd)', with an opt.optimizer @sgd, or leave it out";
  }
  return success();
}

/// A budget replaces a slowdown, and the other way round.
LogicalResult OverridePass::overrideBudget() {
  std::string error;
  std::optional<double> allowance;
  if (!slowdown.empty())
    allowance = ::remat::plan::parseSlowdown(slowdown, error);
  if (!budget.empty())
    ::remat::plan::parseBudget(budget, error);
  if (!error.empty())
    return emitError(getOperation().getLoc(), error);
  if (!budget.empty() && allowance)
    return emitError(getOperation().getLoc(),
                     "budget= and slowdown= each decide about the other; give "
                     "one of them");
  if (!budgetOf.empty() && budgetOf != "step" && budgetOf != "arena")
    return emitError(getOperation().getLoc(), "unknown budget-of=")
           << budgetOf.getValue() << "; choose step or arena";
  WalkResult result = getOperation().walk([&](TrainStepOp step) {
    if (allowance) {
      step.setSlowdown(APFloat(*allowance));
      step.removeBudgetAttr();
      step.removeBudgetOfAttr();
    } else if (!budget.empty()) {
      step.setBudget(StringRef(budget));
      step.removeBudgetOfAttr();
      step.removeSlowdownAttr();
    }
    if (budgetOf.empty())
      return WalkResult::advance();
    if (!step.getBudget()) {
      step.emitError("budget-of=")
          << budgetOf.getValue()
          << " says what a budget bounds, but there is none: give budget=, too";
      return WalkResult::interrupt();
    }
    step.setBudgetOf(StringRef(budgetOf));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace
} // namespace mlir::remat
