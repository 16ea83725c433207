//===- Sweeps.cpp - A backward that runs twice ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The norm of all gradients is known after the last of them, when an update by
// the first one should have been done. To keep all until then takes as much
// memory as the parameters; to recompute them takes one more backward.
//
// Both sweeps start from what the forward has saved, and recompute the same
// from it. A second forward instead would free residuals in the first sweep,
// but not lower the peak: that is at the end of the forward, with all of them.
//===----------------------------------------------------------------------===//

#include "Sweeps.h"

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Analysis/Effects.h"
#include "remat/Analysis/Sources.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class Sweep {
public:
  Sweep(StepFunction &step, Value after)
      : step(step), body(step.function.getBody().front()), after(after),
        builder(body.getTerminator()) {}

  void run();

private:
  SmallVector<Operation *> findBackward();
  void guardForward(ArrayRef<Operation *> backward);
  void keepGradients();
  ValueRange guard(ArrayRef<Value> values, Location loc, IRMapping &map);
  void clone(Operation *op);
  void separateCallees();

  StepFunction &step;
  Block &body;
  Value after;
  OpBuilder builder;
  Effects effects;
  DenseSet<Operation *> isBackward;
  IRMapping mapping;
  /// Values that the first sweep does not have.
  DenseSet<Value> fresh;
  SmallVector<func::CallOp> calls;
};
} // namespace

/// Returns the operations after the forward that the gradients depend on and
/// that may be repeated, in the order of the block. A function without a border
/// was written by hand: its forward is what its results depend on.
SmallVector<Operation *> Sweep::findBackward() {
  BackwardBorder border(step.function);
  bool hasBorder = !body.getOps<BeginBackwardOp>().empty();
  DenseSet<Operation *> forward;
  if (!hasBorder)
    forward = findForward(step.function);
  auto isRepeatable = [&](Operation *op) {
    Operation *culprit = nullptr;
    return hasBorder
               ? border.isInBackward(op) && effects.isReplayable(op, culprit)
               : !forward.contains(op) && effects.isReplayable(op, culprit);
  };
  auto gradients = llvm::map_to_vector(
      step.trained, [](const TrainedParameter &trained) -> Value {
        return trained.gradient;
      });
  auto backward = collectSlice(gradients, [&](Value value) -> FailureOr<bool> {
    Operation *op = value.getDefiningOp();
    return op && !op->hasTrait<OpTrait::ConstantLike>() && isRepeatable(op);
  });
  auto ops = llvm::to_vector(*backward);
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

/// Reads the values of the forward through one barrier. Parameters and
/// data are read as they are: `clone` sees to it that nothing that reads only
/// these is merged with the first sweep.
void Sweep::guardForward(ArrayRef<Operation *> backward) {
  llvm::SetVector<Value> saved;
  for (Operation *op : backward)
    for (Value input : getInputs(op))
      if (Operation *producer = input.getDefiningOp();
          producer && !isBackward.contains(producer) &&
          !producer->hasTrait<OpTrait::ConstantLike>() && !isEmptyTensor(input))
        saved.insert(input);
  if (!saved.empty())
    fresh.insert_range(guard(saved.getArrayRef(), after.getLoc(), mapping));
}

/// Lets gradients that are not recomputed wait for `after`.
void Sweep::keepGradients() {
  for (const TrainedParameter &trained : step.trained) {
    Value gradient = trained.gradient;
    if (!mapping.contains(gradient) &&
        !isBackward.contains(gradient.getDefiningOp()))
      guard(gradient, gradient.getLoc(), mapping);
  }
}

/// Maps `values` to what they are after the first sweep.
ValueRange Sweep::guard(ArrayRef<Value> values, Location loc, IRMapping &map) {
  BarrierOp barrier = createGuard(builder, loc, values, after, map);
  setPhase(barrier, kBackwardPhase);
  return barrier.getResults();
}

void Sweep::clone(Operation *op) {
  Operation *copy = builder.clone(*op, mapping);
  effects.eraseEffects(copy);
  bool isFresh = llvm::any_of(
      getInputs(copy), [&](Value input) { return fresh.contains(input); });
  bool makesTensors =
      llvm::any_of(copy->getResultTypes(), llvm::IsaPred<ShapedType>);
  if (!isFresh && makesTensors && copy->getNumOperands() != 0) {
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPoint(copy);
    OpOperand &last = copy->getOpOperand(copy->getNumOperands() - 1);
    // Others read it as it is.
    IRMapping own;
    last.set(guard(last.get(), last.get().getLoc(), own).front());
    isFresh = true;
  }
  if (isFresh)
    fresh.insert_range(copy->getResults());
  if (auto call = dyn_cast<func::CallOp>(copy))
    calls.push_back(call);
}

/// Gives functions that return gradients to this sweep's calls for their own,
/// so that `remat-sink-steps` may move updates into them.
void Sweep::separateCallees() {
  auto module = step.function->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  DenseSet<Operation *> defines;
  for (const TrainedParameter &trained : step.trained)
    if (Operation *op = trained.gradient.getDefiningOp())
      defines.insert(op);
  DenseSet<StringAttr> callees;
  for (func::CallOp call : calls)
    if (defines.contains(call))
      callees.insert(call.getCalleeAttr().getAttr());
  DenseMap<StringAttr, StringAttr> names;
  for (func::CallOp call : calls) {
    StringAttr name = call.getCalleeAttr().getAttr();
    auto function = symbols.lookup<func::FuncOp>(name);
    if (!callees.contains(name) || !function || function.isExternal() ||
        !function.isPrivate())
      continue;
    StringAttr &separate = names[name];
    if (!separate) {
      func::FuncOp copy = function.clone();
      separate = symbols.insert(copy, std::next(function->getIterator()));
    }
    call.setCallee(separate);
  }
}

void Sweep::run() {
  SmallVector<Operation *> backward = findBackward();
  isBackward.insert_range(backward);
  guardForward(backward);
  keepGradients();
  for (Operation *op : backward)
    clone(op);
  for (TrainedParameter &trained : step.trained)
    trained.gradient = mapping.lookup(trained.gradient);
  separateCallees();
}

void mlir::remat::recomputeGradients(StepFunction &step, Value after) {
  Sweep(step, after).run();
}
