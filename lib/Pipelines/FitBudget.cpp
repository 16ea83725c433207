//===- FitBudget.cpp - A step within so many bytes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner works on estimates of what packing will make of an order. Nearly
// all of them are exact; what counts is the packed program, so each plan is
// tried before it is taken.
//
//===----------------------------------------------------------------------===//

#include "Needs.h"

#include "remat/Dialect/DiagnosticCodes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Train.h"
#include "remat/Plan/Budget.h"
#include "remat/Plan/Recompute.h"
#include "remat/Transforms/Plan/Residuals.h"
#include "remat/Transforms/Schedule/Passes.h"
#include "remat/Transforms/Schedule/StepPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FITBUDGETPASS
#include "remat/Pipelines/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
namespace plan = ::remat::plan;

namespace {

/// The bytes of a budget, and how many of them are not in an arena.
struct Limit {
  int64_t bytes = 0, others = 0;
  int64_t getArena() const { return bytes - others; }
};

struct FitBudgetPass : mlir::remat::impl::FitBudgetPassBase<FitBudgetPass> {
  using FitBudgetPassBase::FitBudgetPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerPackingDialects(registry,
                            [&](OpPassManager &pm, raw_ostream &report) {
                              buildPacking(pm, report);
                            });
  }

  void runOnOperation() override {
    if (failed(fitModule()))
      signalPassFailure();
  }

private:
  /// How often a plan is tried whose packed arena turns out too large.
  static constexpr unsigned kMaxTries = 8;
  /// How many tensors an error names.
  static constexpr unsigned kMaxTensors = 4;

  void buildPacking(OpPassManager &pm, raw_ostream &report) const {
    BufferizeOptions options;
    options.target = std::string(target);
    options.threads = uint64_t(threads);
    options.convWorkspace = uint64_t(convWorkspace);
    options.reportStream = &report;
    // The pipeline runs it after this pass.
    if (options.getTarget().mergesKernels())
      pm.addPass(
          createImproveLocalityPass({options.getTarget().getAlignment()}));
    buildBufferizePipeline(pm, options);
  }

  int64_t getAlignment() const { return lookupTarget(target)->getAlignment(); }

  FailureOr<Needs> measure(OwningOpRef<ModuleOp> copy) const;
  LogicalResult fitModule();
  LogicalResult fitFunctions(TrainStepOp step);
  FailureOr<StepGraph> buildGraph(func::FuncOp function);
  plan::RecomputeOptions getSearch(bool keepsOrder) const;
  FailureOr<int64_t> tryPlan(func::FuncOp function, const plan::Plan &plan);
  LogicalResult fitFunction(func::FuncOp function, const Limit &limit);
  LogicalResult slowFunction(func::FuncOp function, int64_t arena,
                             double allowance);
  LogicalResult reportUnknownSize(func::FuncOp function);
  LogicalResult reportOthers(TrainStepOp step, const Limit &limit);
  LogicalResult reportMiss(func::FuncOp function, const StepGraph &step,
                           const plan::Plan &leanest, int64_t found,
                           const Limit &limit);

  /// Values that policies name.
  DenseMap<Value, DecisionAttr> named;
};

} // namespace

FailureOr<Needs> FitBudgetPass::measure(OwningOpRef<ModuleOp> copy) const {
  return pack(std::move(copy), [&](OpPassManager &pm, raw_ostream &report) {
    buildPacking(pm, report);
  });
}

LogicalResult FitBudgetPass::fitModule() {
  ModuleOp module = getOperation();
  named = takeRecordedDecisions(module);
  if (!lookupTarget(target))
    return module.emitError() << "unknown target '" << target.getValue() << "'";
  for (auto step : module.getOps<TrainStepOp>())
    if (step.getBudget() || step.getSlowdown())
      return fitFunctions(step);
  return success();
}

/// Bounds all functions by what `step` says.
LogicalResult FitBudgetPass::fitFunctions(TrainStepOp step) {
  ModuleOp module = getOperation();
  FailureOr<Needs> needs = measure(module.clone());
  if (failed(needs))
    return failure();
  if (!needs->unpacked.empty())
    return reportUnknownSize(
        module.lookupSymbol<func::FuncOp>(needs->unpacked));
  Limit limit;
  limit.others = step.getBudgetOf() == "arena" ? 0 : needs->others;
  if (step.getBudget()) {
    std::string error;
    int64_t total = needs->arena + limit.others;
    limit.bytes =
        plan::parseBudget(step.getBudget()->str(), error)->getBytes(total);
    // Otherwise a function with an arena says more.
    if (needs->arena == 0 && limit.getArena() < 0)
      return reportOthers(step, limit);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    int64_t arena = needs->arenas.lookup(function.getName());
    if (arena == 0)
      continue;
    if (step.getSlowdown()) {
      if (failed(slowFunction(function, arena,
                              step.getSlowdown()->convertToDouble())))
        return failure();
    } else if (arena > limit.getArena() &&
               failed(fitFunction(function, limit))) {
      return failure();
    }
  }
  return success();
}

FailureOr<StepGraph> FitBudgetPass::buildGraph(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has several blocks, in which nothing can be "
                                "recomputed for a budget");
  SmallVector<Value> kept;
  for (auto [value, decision] : named)
    if (decision.getKind() == DecisionKind::SaveNamed &&
        value.getParentBlock() == &function.front())
      kept.push_back(value);
  StepGraph step = buildStepGraph(function.front(), getAlignment(), kept);
  // Bufferization would copy what is read after it was written in place.
  if (!plan::evaluate(step.graph, plan::getGivenOrder(step.graph)))
    return function.emitError("reads values after they have been written in "
                              "place, which no plan for a budget can have; "
                              "leave the budget out");
  return step;
}

plan::RecomputeOptions FitBudgetPass::getSearch(bool keepsOrder) const {
  plan::RecomputeOptions options;
  options.maxVisits = int64_t(planVisits);
  options.resolution = 0.02;
  options.keepsOrder = keepsOrder;
  return options;
}

/// Returns the packed arena of `function` under `plan`.
FailureOr<int64_t> FitBudgetPass::tryPlan(func::FuncOp function,
                                          const plan::Plan &plan) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  auto target = copy->lookupSymbol<func::FuncOp>(function.getName());
  applySchedule(target.front(), getAlignment(), plan.schedule);
  FailureOr<Needs> needs = measure(std::move(copy));
  if (failed(needs))
    return failure();
  return needs->arenas.lookup(function.getName());
}

/// Replaces the schedule of `function` by one whose packed arena is within
/// `limit`: with first runs in the order that they have, or else in any.
LogicalResult FitBudgetPass::fitFunction(func::FuncOp function,
                                         const Limit &limit) {
  FailureOr<StepGraph> step = buildGraph(function);
  if (failed(step))
    return failure();
  std::optional<plan::Plan> leanest;
  int64_t least = 0;
  for (bool keepsOrder : {true, false}) {
    plan::PlanArchive archive(step->graph, getSearch(keepsOrder));
    const plan::Plan &last = archive.getPlans().back();
    if (!leanest || last.figures.peak < leanest->figures.peak)
      leanest = last;
    int64_t goal = limit.getArena();
    for (unsigned i = 0; i < kMaxTries; ++i) {
      const plan::Plan *found = archive.find(goal);
      if (!found)
        break;
      FailureOr<int64_t> arena = tryPlan(function, *found);
      if (failed(arena))
        return failure();
      if (*arena <= limit.getArena()) {
        applySchedule(function.front(), getAlignment(), found->schedule);
        return success();
      }
      least = least == 0 ? *arena : std::min(least, *arena);
      goal = std::min(goal, found->figures.peak) - (*arena - limit.getArena());
    }
  }
  if (least == 0) {
    FailureOr<int64_t> arena = tryPlan(function, *leanest);
    if (failed(arena))
      return failure();
    least = *arena;
  }
  return reportMiss(function, *step, *leanest, least, limit);
}

/// Replaces the schedule of `function`, whose packed arena is `arena`, by the
/// one of the smallest that takes little enough time, if one is smaller.
LogicalResult FitBudgetPass::slowFunction(func::FuncOp function, int64_t arena,
                                          double allowance) {
  FailureOr<StepGraph> step = buildGraph(function);
  if (failed(step))
    return failure();
  plan::PlanArchive archive(step->graph, getSearch(/*keepsOrder=*/true));
  const plan::ScheduleFigures &given = archive.getPlans().front().figures;
  auto limit = int64_t(double(given.cost) * (1.0 + allowance));
  for (unsigned i = 0; i < kMaxTries; ++i) {
    const plan::Plan *found = archive.findWithin(limit);
    if (!found || found->figures.peak >= given.peak)
      return success();
    FailureOr<int64_t> packed = tryPlan(function, *found);
    if (failed(packed))
      return failure();
    if (*packed < arena) {
      applySchedule(function.front(), getAlignment(), found->schedule);
      return success();
    }
    limit = found->figures.cost - 1;
  }
  return success();
}

/// Says which tensor of `function` has no static size.
LogicalResult FitBudgetPass::reportUnknownSize(func::FuncOp function) {
  Operation *first = nullptr;
  Type type;
  function.walk([&](Operation *op) {
    for (Type result : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(result);
          tensor && !tensor.hasStaticShape() && !first) {
        first = op;
        type = tensor;
      }
  });
  if (!first)
    return function.emitError()
           << "a budget needs buffers of known sizes and lifetimes, but '"
           << function.getName() << "' has others";
  InFlightDiagnostic diagnostic =
      first->emitError() << "a budget needs sizes that are known when the "
                            "program is compiled, but this is a ";
  diagnostic << type;
  diagnostic.attachNote(function.getLoc())
      << "give the data of '" << function.getName()
      << "' static shapes, or leave the budget out";
  return diagnostic;
}

/// Says that `step`, which has no arena, does not fit.
LogicalResult FitBudgetPass::reportOthers(TrainStepOp step,
                                          const Limit &limit) {
  InFlightDiagnostic diagnostic =
      step.emitError() << "'" << step.getStep() << "' does not fit a budget of "
                       << limit.bytes << " bytes: parameters, states, data and "
                       << "results alone take " << limit.others
                       << ", of which nothing can be recomputed";
  setCode(diagnostic, kBudgetMissedCode);
  return diagnostic;
}

/// Says how far `function` is from the budget, and what is in the way: `found`
/// is the smallest packed arena, and `leanest` the plan of the lowest peak.
LogicalResult FitBudgetPass::reportMiss(func::FuncOp function,
                                        const StepGraph &step,
                                        const plan::Plan &leanest,
                                        int64_t found, const Limit &limit) {
  InFlightDiagnostic diagnostic =
      function.emitError() << "'" << function.getName() << "' does not fit a "
                           << "budget of " << limit.bytes << " bytes";
  setCode(diagnostic, kBudgetMissedCode);
  if (limit.others != 0)
    diagnostic << ", " << limit.others
               << " of which are parameters, states, data and results";
  diagnostic << "; the smallest that was found is " << found + limit.others;
  unsigned node = 0;
  int64_t least = plan::getLargestWorkingSet(step.graph, &node);
  diagnostic.attachNote(step.ops[node]->getLoc())
      << "nothing is below " << least + limit.others
      << " bytes: what this reads and "
      << "computes takes " << least;
  std::vector<unsigned> alive =
      plan::findAliveAtPeak(step.graph, leanest.schedule);
  llvm::stable_sort(alive, [&](unsigned a, unsigned b) {
    return step.graph.values[a].bytes > step.graph.values[b].bytes;
  });
  for (unsigned value : ArrayRef(alive).take_front(kMaxTensors))
    diagnostic.attachNote(step.ops[step.graph.values[value].producer]->getLoc())
        << "of the smallest, " << step.graph.values[value].bytes
        << " bytes at the peak are what this computes";
  int64_t bytes = 0;
  for (auto [value, decision] : named)
    if (decision.getKind() == DecisionKind::SaveNamed)
      bytes += estimateBytes(value.getType());
  if (bytes != 0)
    diagnostic.attachNote(function.getLoc())
        << "policies name values of " << bytes
        << " bytes, which are kept for that";
  return diagnostic;
}
