//===- FitLoops.cpp - How many states loops keep for a budget -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop keeps is fixed when it is differentiated, and what that does to
// the peak is known when memory is packed: so the rest of the pipeline runs on
// copies. Most of them are packed only; the search of the planner runs on few.
//===----------------------------------------------------------------------===//

#include "Needs.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Train.h"
#include "remat/Plan/Budget.h"
#include "remat/Plan/Snapshots.h"
#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FITLOOPSPASS
#include "remat/Pipelines/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
namespace plan = ::remat::plan;

/// Returns the loops of `function` that may keep states: those that carry
/// something and are in no other loop and no region. Loops over tiles keep
/// nothing of an iteration by themselves.
static SmallVector<LoopLikeOpInterface> collectLoops(func::FuncOp function) {
  SmallVector<LoopLikeOpInterface> loops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<RegionOp>(op))
      return WalkResult::skip();
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop)
      return WalkResult::advance();
    bool isTiled = false;
    loop->walk(
        [&](RegionOp region) { isTiled |= region->hasAttr("remat.always"); });
    if (isa<scf::ForOp, scf::WhileOp>(op) && !isTiled &&
        op->getNumResults() != 0)
      loops.push_back(loop);
    return WalkResult::skip();
  });
  return loops;
}

namespace {
/// How many states each loop keeps; empty if iterations keep what their
/// backward reads.
using States = SmallVector<int64_t>;

struct FitLoopsPass : mlir::remat::impl::FitLoopsPassBase<FitLoopsPass> {
  using FitLoopsPassBase::FitLoopsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerPackingDialects(
        registry,
        [&](OpPassManager &pm, raw_ostream &report) { buildRest(pm, report); });
  }

  void runOnOperation() override;

private:
  /// How often an iteration is recomputed at most, where more states fit.
  static constexpr int64_t kMaxRepetitions = 12;
  /// States of a loop whose trip count is not known, with one repetition.
  static constexpr int64_t kMostStates = 64;
  /// How often the number of states is halved between too many and enough.
  static constexpr unsigned kMaxHalvings = 4;

  void buildRest(OpPassManager &pm, raw_ostream &report) const;
  SmallVector<LoopLikeOpInterface> getLoops(ModuleOp module) const;
  LogicalResult keepStates(ModuleOp module, const States &states) const;
  States getStates(ModuleOp module, int64_t repetitions) const;
  std::optional<int64_t> measure(const States &states, bool plans);
  States choose(int64_t bytes);

  StringAttr loss;
  bool boundsArena = false;
};
} // namespace

void FitLoopsPass::buildRest(OpPassManager &pm, raw_ostream &report) const {
  ToTensorsOptions options;
  options.target = std::string(target);
  options.threads = uint64_t(threads);
  options.convWorkspace = uint64_t(convWorkspace);
  options.planVisits = uint64_t(planVisits);
  buildFromForwardPipeline(pm, options);
  BufferizeOptions bufferize;
  bufferize.target = std::string(target);
  bufferize.threads = uint64_t(threads);
  bufferize.convWorkspace = uint64_t(convWorkspace);
  bufferize.reportStream = &report;
  buildBufferizePipeline(pm, bufferize);
}

SmallVector<LoopLikeOpInterface> FitLoopsPass::getLoops(ModuleOp module) const {
  auto function = module.lookupSymbol<func::FuncOp>(loss);
  return function ? collectLoops(function) : SmallVector<LoopLikeOpInterface>();
}

/// Puts each loop of `module` into a region with a policy for its `states`.
LogicalResult FitLoopsPass::keepStates(ModuleOp module,
                                       const States &states) const {
  if (states.empty())
    return success();
  IRRewriter rewriter(module.getContext());
  for (auto [loop, count] : llvm::zip_equal(getLoops(module), states)) {
    SmallVector<RegionOp> regions;
    Selection selection;
    selection.ops.push_back(loop);
    selection.label = "loop";
    if (failed(wrapInRegions(
            rewriter, selection,
            SnapshotsAttr::get(module.getContext(), count, /*bytes=*/0),
            regions)))
      return failure();
  }
  return success();
}

/// Returns the fewest states with which no iteration is run more than
/// `repetitions` times besides for its own backward.
States FitLoopsPass::getStates(ModuleOp module, int64_t repetitions) const {
  return llvm::map_to_vector(getLoops(module), [&](LoopLikeOpInterface loop) {
    if (auto counted = dyn_cast<scf::ForOp>(loop.getOperation()))
      if (std::optional<APInt> trips = counted.getStaticTripCount())
        return plan::getFewestSnapshots(trips->getSExtValue(), repetitions);
    return std::max<int64_t>(kMostStates >> (repetitions - 1), 1);
  });
}

/// Returns how many bytes the step takes with `states`, after the planner has
/// had its turn if it `plans`; none if that does not compile.
std::optional<int64_t> FitLoopsPass::measure(const States &states, bool plans) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  // The pipeline itself says what there is to say.
  ScopedDiagnosticHandler quiet(&getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(keepStates(*copy, states)))
    return std::nullopt;
  if (!plans)
    for (auto step : copy->getOps<TrainStepOp>()) {
      step.removeBudgetAttr();
      step.removeBudgetOfAttr();
    }
  FailureOr<Needs> needs =
      pack(std::move(copy), [&](OpPassManager &pm, raw_ostream &report) {
        buildRest(pm, report);
      });
  if (failed(needs) || !needs->unpacked.empty())
    return std::nullopt;
  return needs->arena + (boundsArena ? 0 : needs->others);
}

/// Returns with how many states the step takes no more than `bytes`, without
/// planning if it can: the planner recomputes single values, which costs less
/// than iterations, but less is to be had by it.
States FitLoopsPass::choose(int64_t bytes) {
  ModuleOp module = getOperation();
  auto fits = [&](const States &states, bool plans) {
    std::optional<int64_t> needed = measure(states, plans);
    return needed && *needed <= bytes;
  };
  if (fits({}, /*plans=*/true))
    return {};
  SmallVector<States> candidates;
  auto addCandidate = [&](States states) {
    if (candidates.empty() || candidates.back() != states)
      candidates.push_back(std::move(states));
  };
  for (int64_t repetitions : llvm::seq_inclusive<int64_t>(1, kMaxRepetitions))
    addCandidate(getStates(module, repetitions));
  addCandidate(States(getLoops(module).size(), 1));
  const auto *enough = llvm::find_if(candidates, [&](const States &states) {
    return fits(states, /*plans=*/false);
  });
  if (enough == candidates.end()) {
    // An error says what the last ones need.
    for (size_t i = 0; i < candidates.size(); i = 2 * i + 1)
      if (fits(candidates[i], /*plans=*/true))
        return candidates[i];
    return candidates.back();
  }
  if (enough == candidates.begin())
    return *enough;
  States few = *enough, many = *(enough - 1);
  if (fits(many, /*plans=*/true))
    return many;
  for (unsigned i = 0; i < kMaxHalvings; ++i) {
    States between;
    for (auto [less, more] : llvm::zip_equal(few, many))
      between.push_back(less + (more - less) / 2);
    if (between == few)
      break;
    (fits(between, /*plans=*/false) ? few : many) = between;
  }
  return few;
}

void FitLoopsPass::runOnOperation() {
  ModuleOp module = getOperation();
  TrainStepOp bounded;
  for (auto step : module.getOps<TrainStepOp>())
    if (!bounded && step.getBudget())
      bounded = step;
  if (!bounded)
    return markAllAnalysesPreserved();
  loss = bounded.getLossAttr().getAttr();
  boundsArena = bounded.getBudgetOf() == "arena";
  if (getLoops(module).empty())
    return markAllAnalysesPreserved();
  std::string error;
  std::optional<plan::Budget> budget =
      plan::parseBudget(bounded.getBudget()->str(), error);
  if (!budget)
    return;
  int64_t whole = 0;
  if (budget->fraction != 0) {
    std::optional<int64_t> needed = measure({}, /*plans=*/false);
    if (!needed)
      return;
    whole = *needed;
    // Of the whole with tapes, whatever loops keep in the end.
    bounded.setBudget(std::to_string(budget->getBytes(whole)));
  }
  if (failed(keepStates(module, choose(budget->getBytes(whole)))))
    signalPassFailure();
}
