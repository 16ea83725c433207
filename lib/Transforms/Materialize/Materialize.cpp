//===- Materialize.cpp - Delete residuals by recomputing them -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions become code: operations that a plan recomputes are cloned into the
// backward, and the residual disappears. Nothing is decided here.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Sources.h"
#include "remat/Transforms/Materialize/Passes.h"

#include "DropDead.h"
#include "Rebuild.h"
#include "remat/Analysis/Effects.h"
#include "remat/Transforms/Plan/BackwardInputs.h"
#include "remat/Transforms/Plan/Residuals.h"
#include "remat/Transforms/Utils/Recompute.h"
#include "remat/Transforms/Utils/Unreachable.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_MATERIALIZE
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Executes the plans of the backwards of one region.
class RegionMaterializer {
public:
  RegionMaterializer(RegionOp region, ResidualPaths &paths, Effects &effects)
      : region(region), paths(paths), effects(effects) {}

  LogicalResult run();

private:
  LogicalResult routeOperand(BackwardInputs &backward, BlockArgument argument);
  LogicalResult execute(BackwardInputs &backward, PlanOp plan);
  void mapInputs(BackwardInputs &backward, IRMapping &mapping);
  void cloneSlice(BackwardInputs &backward);

  RegionOp region;
  ResidualPaths &paths;
  Effects &effects;
  /// Values that the current backward recomputes.
  SetVector<Value> recomputed;
  /// Operations that lead to them, in program order, and the arguments and
  /// saved values of the region that they read.
  SmallVector<Operation *> ops;
  SetVector<Value> inputs;
};
} // namespace

//===----------------------------------------------------------------------===//
// From the plan to a slice
//===----------------------------------------------------------------------===//

/// Routes an operand whose copy in the backward is not recognized as such: one
/// that a backward loop extracts a second time from an invariant tensor.
LogicalResult RegionMaterializer::routeOperand(BackwardInputs &backward,
                                               BlockArgument argument) {
  Value operand = region->getOperand(argument.getArgNumber());
  Value routed = paths.route(operand, region->getBlock(), backward.op);
  if (!routed)
    return backward.op.emitOpError()
           << "computes residuals again that depend on operand "
           << argument.getArgNumber()
           << " of its region, which it does not get; run -remat-plan again "
              "instead of editing what it made";
  backward.set(argument, backward.op.addInput(routed));
  return success();
}

/// Collects the slice from the values that the plan's recomputation starts from
/// to the recomputed ones.
LogicalResult RegionMaterializer::execute(BackwardInputs &backward,
                                          PlanOp plan) {
  recomputed.clear();
  inputs.clear();
  SetVector<Value> start;
  for (Value value : plan.getFrom())
    if (Value known = backward.lookup(value))
      start.insert(known);
  for (auto [index, residual] : llvm::enumerate(plan.getResiduals()))
    if (Value known = backward.lookup(residual)) {
      if (plan.getDecision(index).runsAgain())
        recomputed.insert(known);
      else
        recordDecision(known, plan.getDecision(index));
    }

  FailureOr<SetVector<Operation *>> slice = collectSlice(
      recomputed.getArrayRef(),
      [&](Value value) -> FailureOr<bool> {
        bool isStart = start.contains(value) && !recomputed.contains(value);
        auto argument = dyn_cast<BlockArgument>(value);
        if (!isStart && argument && failed(routeOperand(backward, argument)))
          return failure();
        if (isStart || argument)
          inputs.insert(value);
        return !isStart && !argument;
      },
      lookThroughNames);
  if (failed(slice))
    return failure();
  ops = slice->takeVector();
  plan->replaceAllUsesWith(plan.getResiduals());
  plan->erase();
  if (!ops.empty())
    cloneSlice(backward);
  return success();
}

//===----------------------------------------------------------------------===//
// Recomputing
//===----------------------------------------------------------------------===//

/// One barrier for all inputs of the slice, at the start of the backward for
/// now. Operands with `prevent_cse = false` are read as they are, and so is
/// everything if no operand prevents it.
void RegionMaterializer::mapInputs(BackwardInputs &backward,
                                   IRMapping &mapping) {
  std::optional<ArrayRef<bool>> flags = region.getPreventCse();
  bool anyPrevents =
      !flags || flags->empty() || llvm::is_contained(*flags, true);
  SmallVector<Value> guarded;
  for (Value input : inputs) {
    auto argument = dyn_cast<BlockArgument>(input);
    mapping.map(input, backward.have[input]);
    if (argument ? region.preventsCSE(argument.getArgNumber()) : anyPrevents)
      guarded.push_back(input);
  }
  if (guarded.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(backward.op.getBodyBlock());
  setPhase(createGuard(builder, region.getLoc(), guarded,
                       ValueRange(backward.cotangents), mapping),
           kRecomputePhase);
}

/// Reads of a fill or another operation that depends on constants only pass no
/// barrier: put one on an operand, so that it is neither merged with that of
/// another region nor hoisted from a loop, and stays a short-lived buffer.
static void guardConstantOps(ArrayRef<Operation *> clones,
                             ArrayRef<BlockArgument> cotangents) {
  DenseSet<Operation *> constant;
  for (Operation *clone : clones) {
    bool isConstant = llvm::all_of(getInputs(clone), [&](Value read) {
      return constant.contains(read.getDefiningOp());
    });
    if (!isConstant || isa<BarrierOp>(clone))
      continue;
    if (clone->getNumOperands() == 0 ||
        llvm::none_of(clone->getResultTypes(), llvm::IsaPred<ShapedType>)) {
      constant.insert(clone);
      continue;
    }
    OpBuilder builder(clone);
    OpOperand &last = clone->getOpOperand(clone->getNumOperands() - 1);
    IRMapping mapping;
    setPhase(createGuard(builder, clone->getLoc(), last.get(),
                         ValueRange(cotangents), mapping),
             kRecomputePhase);
    last.set(mapping.lookup(last.get()));
  }
}

/// Moves each of `clones` (in program order, at the start of `block`) in front
/// of the first operation that reads it.
static void sinkToUsers(ArrayRef<Operation *> clones, Block *block) {
  DenseMap<Operation *, unsigned> position;
  SmallVector<Operation *> rest;
  DenseSet<Operation *> isClone(clones.begin(), clones.end());
  for (Operation &op : *block)
    if (!isClone.contains(&op)) {
      position[&op] = rest.size();
      rest.push_back(&op);
    }
  for (Operation *clone : llvm::reverse(clones)) {
    unsigned first = rest.size() - 1;
    for (Operation *user : clone->getUsers())
      first =
          std::min(first, position.lookup(block->findAncestorOpInBlock(*user)));
    position[clone] = first;
  }
  for (Operation *clone : clones)
    clone->moveBefore(rest[position[clone]]);
}

void RegionMaterializer::cloneSlice(BackwardInputs &backward) {
  Block *target = backward.op.getBodyBlock();
  Operation *first = &target->front();
  IRMapping mapping;
  mapInputs(backward, mapping);
  OpBuilder builder(first);
  for (Operation *op : ops) {
    // Names are not cloned; who reads one reads what it names.
    for (Value read : getInputs(op))
      if (!mapping.contains(read))
        mapping.map(read, mapping.lookup(lookThroughNames(read)));
    effects.eraseEffects(cloneRecompute(builder, op, mapping, kRecomputePhase));
  }
  for (Value value : recomputed)
    backward.have[value].replaceAllUsesWith(mapping.lookup(value));

  auto getClones = [&] {
    SmallVector<Operation *> clones;
    for (Operation &op :
         llvm::make_range(target->begin(), first->getIterator()))
      clones.push_back(&op);
    return clones;
  };
  std::optional<ArrayRef<bool>> flags = region.getPreventCse();
  if (!flags || flags->empty() || llvm::is_contained(*flags, true))
    guardConstantOps(getClones(), backward.cotangents);
  sinkToUsers(getClones(), target);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult RegionMaterializer::run() {
  SmallVector<Operation *> opaque;
  for (BackwardInputs &backward : getBackwards(region, paths, opaque)) {
    if (PlanOp plan = backward.getPlan())
      if (failed(execute(backward, plan)))
        return failure();
    dropUnusedInputs(backward.op);
  }
  return success();
}

namespace {
class MaterializePass : public remat::impl::MaterializeBase<MaterializePass> {
protected:
  void runOnOperation() override {
    bool changed = eraseUnreachable(getOperation());
    BackwardBorder border(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        for (PlanOp plan : llvm::make_early_inc_range(block.getOps<PlanOp>())) {
          changed = true;
          if (failed(rebuildResiduals(plan, border)))
            return signalPassFailure();
        }
    // Inner regions first: a recompute of an outer one has to clone what is
    // left of them.
    SmallVector<Block *> bodies = getRegionBodies(getOperation());
    if (bodies.empty()) {
      if (!changed)
        markAllAnalysesPreserved();
      return;
    }
    Effects effects;
    ResidualPaths paths(getOperation());
    for (Block *body : bodies)
      if (failed(RegionMaterializer(cast<RegionOp>(body->getParentOp()), paths,
                                    effects)
                     .run()))
        return signalPassFailure();
    dropDead(getOperation(), paths.getFunctions(), effects);
  }
};
} // namespace
