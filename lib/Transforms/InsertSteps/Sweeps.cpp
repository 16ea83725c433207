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
  Value guard(Value value);
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
  DenseSet<Operation *> needed;
  SmallVector<Value> pending;
  for (const TrainedParameter &trained : step.trained)
    pending.push_back(trained.gradient);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op && (op = body.findAncestorOpInBlock(*op)) && isRepeatable(op) &&
        needed.insert(op).second)
      llvm::append_range(pending, getInputs(op));
  }
  SmallVector<Operation *> backward;
  for (Operation &op : body)
    if (needed.contains(&op) && !op.hasTrait<OpTrait::ConstantLike>())
      backward.push_back(&op);
  return backward;
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
  if (saved.empty())
    return;
  auto barrier = BarrierOp::create(builder, after.getLoc(), saved.getArrayRef(),
                                   ValueRange(after));
  setPhase(barrier, kBackwardPhase);
  mapping.map(saved.getArrayRef(), barrier.getResults());
  fresh.insert_range(barrier.getResults());
}

/// Lets gradients that are not recomputed wait for `after`.
void Sweep::keepGradients() {
  for (const TrainedParameter &trained : step.trained) {
    Value gradient = trained.gradient;
    if (!mapping.contains(gradient) &&
        !isBackward.contains(gradient.getDefiningOp()))
      mapping.map(gradient, guard(gradient));
  }
}

Value Sweep::guard(Value value) {
  auto barrier =
      BarrierOp::create(builder, value.getLoc(), value, ValueRange(after));
  setPhase(barrier, kBackwardPhase);
  return barrier.getResult(0);
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
    last.set(guard(last.get()));
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
