//===- Plan.cpp - Decide what the backward keeps --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiation saves whatever the backward reads. Here, and only here, it is
// decided which of that stays, and what the rest is computed from.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Plan/Passes.h"

#include "KeptOutputs.h"
#include "Select.h"
#include "Slice.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Effects.h"
#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Transforms/Plan/BackwardInputs.h"
#include "remat/Transforms/Plan/Residuals.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PLAN
#include "remat/Transforms/Plan/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Plans one region. The region may be replaced while new residuals are added,
/// so it is named by its body.
class RegionPlanner {
public:
  RegionPlanner(Block *body, ResidualPaths &paths, Effects &effects,
                const BackwardBorder &border, bool report)
      : body(body), paths(paths), effects(effects), border(border),
        report(report) {}

  LogicalResult run();

private:
  RegionOp getRegion() { return cast<RegionOp>(body->getParentOp()); }

  void warnOfOpaque(ArrayRef<Operation *> opaque);
  void warnOfKept(const BackwardInputs &backward, const Slice &slice,
                  Value stuck);
  LogicalResult checkReplayable(const Slice &slice);
  Value routeInputs(BackwardInputs &backward, const Slice &slice);
  DecisionAttr decide(Value value, const Slice &slice, bool isStuck);
  void insertPlan(BackwardInputs &backward, const Slice &slice, bool isStuck);
  void remarkOn(const Slice &slice);

  Block *body;
  ResidualPaths &paths;
  Effects &effects;
  const BackwardBorder &border;
  bool report;
  /// Outputs that cost nothing to keep, as others do, and what a policy has
  /// chosen among all values.
  SetVector<Value> kept, chosen;
};
} // namespace

//===----------------------------------------------------------------------===//
// What stays saved against the policy
//===----------------------------------------------------------------------===//

/// Why the path of a residual ends at `use`, and what to do about it.
static StringRef explainUse(Operation *use) {
  if (isa<func::ReturnOp>(use))
    return "is returned here by a function that is not private, or that nobody "
           "calls: make it private, or inline its calls (-inline) before "
           "-remat-differentiate";
  if (isa<TapeWriteOp, TapeReadOp>(use))
    return "goes through a tape here that a loop does not write once in each "
           "iteration, or that a backward loop does not read in the same "
           "order: "
           "give the residual a tape of its own";
  if (isa<CallOpInterface>(use))
    return "is passed here to a function that is not the private backward of "
           "the function that returns it: inline the call (-inline) before "
           "-remat-differentiate";
  return "is read here by something that is not the region's remat.backward: "
         "yield a value that the model itself reads as an output of the region "
         "instead";
}

void RegionPlanner::warnOfOpaque(ArrayRef<Operation *> opaque) {
  RegionOp region = getRegion();
  unsigned first = region.getOutputs().size();
  for (auto [index, use] : llvm::enumerate(opaque.drop_front(first))) {
    Value value = lookThroughNames(region.getYield().getResiduals()[index]);
    if (!use || isa<BlockArgument>(value) ||
        region.getPolicyOrDefault().isSaveable(value))
      continue;
    InFlightDiagnostic warning =
        emitWarning(value.getLoc(), "this value stays saved although the "
                                    "policy of its remat.region forbids it");
    warning.attachNote(use->getLoc())
        << "residual " << index << " " << explainUse(use);
    warning.attachNote(region.getLoc()) << "region is here";
  }
}

void RegionPlanner::warnOfKept(const BackwardInputs &backward,
                               const Slice &slice, Value stuck) {
  for (Value value : backward.needed) {
    if (slice.saved.contains(value))
      continue;
    InFlightDiagnostic warning =
        emitWarning(value.getLoc(), "this value stays saved although the "
                                    "policy of its remat.region forbids it");
    warning.attachNote(stuck.getLoc())
        << "a recompute would need this value, which cannot be sent to the "
           "backward: give it a size that is known before the loops around the "
           "region (for a tape), and inline calls of public functions; or let "
           "the policy save the value";
    warning.attachNote(getRegion().getLoc()) << "region is here";
  }
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

LogicalResult RegionPlanner::checkReplayable(const Slice &slice) {
  for (Operation *op : slice.ops) {
    Operation *culprit = nullptr;
    if (effects.isReplayable(op, culprit))
      continue;
    InFlightDiagnostic diagnostic =
        culprit->emitError()
        << "operation with side effects would run again in the backward of its "
           "region; move it out of the remat.region, or choose a policy that "
           "saves what depends on it (remat.name and "
           "#remat.save_only_names<...>)";
    diagnostic.attachNote(getRegion().getLoc()) << "region is here";
    return diagnostic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Makes what the slice starts from, and what is saved, arguments of the
/// backward. Returns the first value for which there is no path, or null.
Value RegionPlanner::routeInputs(BackwardInputs &backward, const Slice &slice) {
  SetVector<Value> wanted = slice.inputs;
  wanted.insert_range(slice.saved);
  wanted.insert_range(backward.operands);
  for (Value value : wanted) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto it = backward.have.find(value);
    bool has = it != backward.have.end();
    if (has && !argument)
      continue;
    // An operand that the backward has may still come a dearer way than need
    // be: as a residual, or through a tape.
    Value outside = argument ? getRegion()->getOperand(argument.getArgNumber())
                             : addResidual(getRegion(), value);
    Value routed = paths.route(outside, getRegion()->getBlock(), backward.op);
    if (!routed && !has)
      return value;
    if (!routed)
      continue;
    BlockArgument input = argument ? backward.op.addInput(routed)
                                   : backward.op.addResidual(routed);
    if (has && it->second != input)
      it->second.replaceAllUsesWith(input);
    backward.set(value, input);
  }
  return {};
}

/// `isStuck`: nothing can be recomputed, for want of something to start from.
DecisionAttr RegionPlanner::decide(Value value, const Slice &slice,
                                   bool isStuck) {
  PolicyAttrInterface policy = getRegion().getPolicyOrDefault();
  MLIRContext *context = value.getContext();
  std::string by;
  llvm::raw_string_ostream(by) << policy;
  DecisionKind kind = DecisionKind::Save;
  StringRef reason = "permitted";
  if (slice.saved.contains(value)) {
    if (policy.isOffloadable(value))
      kind = DecisionKind::Offload;
    std::optional<StringRef> name = getPolicyName(value);
    if (name && policy.savesByName(value, *name)) {
      if (kind == DecisionKind::Save)
        kind = DecisionKind::SaveNamed;
      reason = "named by the policy";
    } else if (kept.contains(value)) {
      reason = "kept as another's operand anyway";
    } else if (chosen.contains(value)) {
      reason = "chosen among all values";
    }
  } else if (isStuck) {
    reason = "no path for what a recompute starts from";
  } else if (policy.isSaveable(value)) {
    kind = DecisionKind::Rebuild;
    reason = "costs nothing";
  } else {
    kind = DecisionKind::Recompute;
    reason = selectsTogether(policy) ? "not chosen" : "not permitted";
  }
  return DecisionAttr::get(context, kind, /*of=*/{},
                           StringAttr::get(context, by),
                           StringAttr::get(context, reason));
}

void RegionPlanner::insertPlan(BackwardInputs &backward, const Slice &slice,
                               bool isStuck) {
  SetVector<Value> values(backward.needed.begin(), backward.needed.end());
  SetVector<Value> from;
  if (!isStuck) {
    values.insert_range(slice.saved);
    for (Value input : slice.inputs)
      from.insert(backward.have[input]);
  }
  if (values.empty())
    return;
  SmallVector<Value> residuals;
  SmallVector<Attribute> decisions;
  for (Value value : values) {
    residuals.push_back(backward.have[value]);
    decisions.push_back(decide(value, slice, isStuck));
  }
  OpBuilder builder = OpBuilder::atBlockBegin(backward.op.getBodyBlock());
  auto plan = PlanOp::create(builder, backward.op.getLoc(), residuals,
                             from.getArrayRef(), decisions);
  for (auto [residual, result] : llvm::zip_equal(residuals, plan.getResults()))
    residual.replaceAllUsesExcept(result, plan);
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

void RegionPlanner::remarkOn(const Slice &slice) {
  RegionOp region = getRegion();
  int64_t bytes = 0;
  bool offloads = false;
  for (Value value : slice.saved) {
    bytes += getNumBytes(value.getType());
    offloads |= region.getPolicyOrDefault().isOffloadable(value);
  }
  int64_t recomputed = 0, cost = 0;
  for (Operation *op : slice.ops)
    if (!op->hasTrait<OpTrait::ConstantLike>() && !isa<tensor::EmptyOp>(op)) {
      ++recomputed;
      cost += getRecomputeCost(op);
    }
  InFlightDiagnostic remark = region.emitRemark();
  if (std::optional<StringRef> label = region.getLabel())
    remark << "region \"" << *label << "\": ";
  remark << "saves " << slice.saved.size() << " values (" << bytes
         << " bytes), recomputes " << recomputed << " operations";
  if (recomputed != 0)
    remark << " (" << cost << " scalar ones)";
  if (offloads)
    remark << "; what the policy offloads is saved where the step runs";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult RegionPlanner::run() {
  SmallVector<Operation *> opaque;
  SmallVector<BackwardInputs> backwards =
      getBackwards(getRegion(), paths, opaque);
  warnOfOpaque(opaque);
  // All backwards of a region share what is chosen.
  SmallVector<Value> allNeeded;
  for (BackwardInputs &backward : backwards)
    llvm::append_range(allNeeded, backward.needed);
  for (BackwardInputs &backward : backwards) {
    if (backward.getPlan())
      continue;
    kept = findKeptOutputs(getRegion(), backward, border);
    chosen.clear();
    if (selectsTogether(getRegion().getPolicyOrDefault()))
      chosen = selectValues(getRegion(), allNeeded, kept, effects);
    SetVector<Value> saved = kept;
    saved.insert_range(chosen);
    Slice slice = computeSlice(getRegion(), backward.needed, saved);
    if (failed(checkReplayable(slice)))
      return failure();
    Value stuck = routeInputs(backward, slice);
    if (stuck)
      warnOfKept(backward, slice, stuck);
    else if (report)
      remarkOn(slice);
    insertPlan(backward, slice, stuck != nullptr);
    dropUnusedInputs(backward.op);
  }
  return success();
}

namespace {
struct PlanPass : remat::impl::PlanBase<PlanPass> {
  using PlanBase::PlanBase;

  void runOnOperation() override {
    // Inner regions first: what their recomputes start from crosses the border
    // of the outer region as residuals, which the outer policy judges.
    SmallVector<Block *> bodies = getRegionBodies(getOperation());
    if (bodies.empty())
      return markAllAnalysesPreserved();
    Effects effects;
    ResidualPaths paths(getOperation());
    BackwardBorder border(getOperation());
    for (Block *body : bodies)
      if (failed(RegionPlanner(body, paths, effects, border, report).run()))
        return signalPassFailure();
  }
};
} // namespace
