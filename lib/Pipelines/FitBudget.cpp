//===- FitBudget.cpp - A step within so many bytes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner works on estimates of what packing will make of an order. Nearly
// all of them are exact; what counts is the packed program, so each plan is
// tried before it is taken.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Train.h"
#include "remat/Plan/Budget.h"
#include "remat/Plan/Recompute.h"
#include "remat/Transforms/Schedule/Passes.h"
#include "remat/Transforms/Schedule/StepPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FITBUDGETPASS
#include "remat/Pipelines/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
namespace plan = ::remat::plan;

namespace {

/// Bytes that the packed functions of a module need.
struct Needs {
  /// Of each function that has an arena.
  llvm::StringMap<int64_t> arenas;
  /// The largest of these, and what there is beside it: parameters, states,
  /// data and results.
  int64_t arena = 0, others = 0;
  /// A function with buffers that are in no arena; empty if there is none.
  std::string unpacked;
};

struct FitBudgetPass : mlir::remat::impl::FitBudgetPassBase<FitBudgetPass> {
  using FitBudgetPassBase::FitBudgetPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    std::string text;
    llvm::raw_string_ostream report(text);
    OpPassManager packed(ModuleOp::getOperationName());
    buildPacking(packed, report);
    packed.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (failed(fitModule()))
      signalPassFailure();
  }

private:
  /// How often a plan is tried whose packed arena turns out too large.
  static constexpr unsigned kMaxTries = 8;

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

  int64_t getTotal(const Needs &needs) const {
    return budgetOf == "arena" ? needs.arena : needs.arena + needs.others;
  }

  FailureOr<Needs> measure(ModuleOp module) const;
  LogicalResult fitModule();
  LogicalResult fitFunction(func::FuncOp function, int64_t limit);
  LogicalResult reportUnknownSize(func::FuncOp function);
  LogicalResult reportMiss(func::FuncOp function, const StepGraph &step,
                           int64_t limit, int64_t found);

  int64_t alignment = 1;
  int64_t others = 0, budgetBytes = 0;
};

} // namespace

/// Packs a copy of `module`.
FailureOr<Needs> FitBudgetPass::measure(ModuleOp module) const {
  OwningOpRef<ModuleOp> copy = module.clone();
  std::string text;
  llvm::raw_string_ostream report(text);
  PassManager pm(module.getContext());
  buildPacking(pm, report);
  if (failed(pm.run(*copy)))
    return failure();
  Needs needs;
  llvm::json::Value parsed = llvm::cantFail(llvm::json::parse(text));
  for (const llvm::json::Value &value :
       *parsed.getAsObject()->getArray("functions")) {
    const llvm::json::Object &function = *value.getAsObject();
    int64_t arena = *function.getInteger("arena"), beside = 0;
    if (*function.getInteger("unpacked") != 0)
      needs.unpacked = function.getString("name")->str();
    needs.arenas[*function.getString("name")] = arena;
    needs.arena = std::max(needs.arena, arena);
    for (const auto &argument : *function.getObject("arguments"))
      beside += *argument.second.getAsInteger();
    needs.others = std::max(needs.others, beside);
  }
  return needs;
}

LogicalResult FitBudgetPass::fitModule() {
  ModuleOp module = getOperation();
  std::string error;
  std::optional<plan::Budget> parsed = plan::parseBudget(budget, error);
  if (!parsed)
    return module.emitError() << error;
  if (budgetOf != "step" && budgetOf != "arena")
    return module.emitError()
           << "unknown budget-of=" << budgetOf.getValue() << "; choose step or "
           << "arena";
  const Target *known = lookupTarget(target);
  if (!known)
    return module.emitError() << "unknown target '" << target.getValue() << "'";
  alignment = known->getAlignment();
  FailureOr<Needs> needs = measure(module);
  if (failed(needs))
    return failure();
  if (!needs->unpacked.empty())
    return reportUnknownSize(
        module.lookupSymbol<func::FuncOp>(needs->unpacked));
  budgetBytes = parsed->getBytes(getTotal(*needs));
  others = budgetOf == "arena" ? 0 : needs->others;
  if (getTotal(*needs) <= budgetBytes)
    return success();
  for (auto function : module.getOps<func::FuncOp>())
    if (needs->arenas.lookup(function.getName()) > budgetBytes - others &&
        failed(fitFunction(function, budgetBytes - others)))
      return failure();
  return success();
}

/// Replaces the schedule of `function` by one whose packed arena is no larger
/// than `limit`.
LogicalResult FitBudgetPass::fitFunction(func::FuncOp function, int64_t limit) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has several blocks, in which nothing can be "
                                "recomputed for a budget");
  StepGraph step = buildStepGraph(function.front(), alignment);
  plan::RecomputeOptions options;
  options.maxVisits = int64_t(planVisits);
  options.resolution = 0.05;
  options.keepsOrder = true;
  plan::PlanArchive archive(step.graph, options);
  int64_t goal = limit, least = 0;
  for (unsigned i = 0; i < kMaxTries; ++i) {
    const plan::Plan *found = archive.find(goal);
    if (!found)
      break;
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    auto target = copy->lookupSymbol<func::FuncOp>(function.getName());
    applySchedule(target.front(), alignment, found->schedule);
    FailureOr<Needs> needs = measure(*copy);
    if (failed(needs))
      return failure();
    int64_t arena = needs->arenas.lookup(function.getName());
    if (arena <= limit) {
      applySchedule(function.front(), alignment, found->schedule);
      return success();
    }
    least = least == 0 ? arena : std::min(least, arena);
    goal = std::min(goal, found->figures.peak) - (arena - limit);
  }
  if (least == 0)
    least = archive.getPlans().back().figures.peak;
  return reportMiss(function, step, limit, least);
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

LogicalResult FitBudgetPass::reportMiss(func::FuncOp function,
                                        const StepGraph &step, int64_t limit,
                                        int64_t found) {
  InFlightDiagnostic diagnostic =
      function.emitError() << "'" << function.getName() << "' does not fit a "
                           << "budget of " << budgetBytes << " bytes";
  if (others != 0)
    diagnostic << ", " << others
               << " of which are parameters, states, data and results";
  diagnostic << "; the smallest that was found is " << found + others;
  unsigned node = 0;
  int64_t least = plan::getLargestWorkingSet(step.graph, &node);
  diagnostic.attachNote(step.ops[node]->getLoc())
      << "nothing is below " << least + others << " bytes: what this reads and "
      << "computes takes " << least;
  return diagnostic;
}
