//===- Rebuild.cpp - Recompute values in a function's backward ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions about values outside of regions become code here. A producer that
// can be fused into the kernels that read its result is fused at once: no pass
// in between may merge its clone with the original.
//===----------------------------------------------------------------------===//

#include "Rebuild.h"

#include "remat/Transforms/Fuse/ElementwiseFusion.h"
#include "remat/Transforms/Plan/Residuals.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

namespace {
class Rebuilder {
public:
  Rebuilder(PlanOp plan, const BackwardBorder &border)
      : plan(plan), block(plan->getBlock()), border(border) {
    for (auto [residual, result] :
         llvm::zip_equal(plan.getResiduals(), plan.getResults()))
      resultOf[residual] = cast<OpResult>(result);
  }

  LogicalResult run();

private:
  LogicalResult rebuild(Value residual, Value result);
  void cloneView(Value residual, Value result);
  bool fuseIntoUsers(Value residual, Value result);
  LogicalResult collectOps(Value value);
  LogicalResult cloneSlice(Value residual, Value result);
  Operation *findFirstUser(Value value);
  SmallVector<Value, 1> getAwaited(Operation *user);
  void keepSaved();

  PlanOp plan;
  Block *block;
  const BackwardBorder &border;
  /// The result of the plan that the backward reads in place of a residual.
  DenseMap<Value, OpResult> resultOf;
  /// Operations that compute the current value, and the tensors that they start
  /// from.
  SetVector<Operation *> ops;
  SetVector<Value> sources;
};
} // namespace

/// Users in other blocks of the function come after the terminator.
Operation *Rebuilder::findFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!ancestor)
      ancestor = block->getTerminator();
    if (!first || ancestor->isBeforeInBlock(first))
      first = ancestor;
  }
  return first;
}

/// Returns a value of the backward, computed before `user`, that `user` or the
/// users of its result depend on: a recompute may wait for it.
SmallVector<Value, 1> Rebuilder::getAwaited(Operation *user) {
  for (Operation *at = user; at;) {
    for (Value operand : at->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op && op != plan && op->getBlock() == block &&
          border.isInBackward(op) && op->isBeforeInBlock(user) &&
          isa<TensorType>(operand.getType()))
        return {operand};
    }
    at = at->getNumResults() == 1 ? findFirstUser(at->getResult(0)) : nullptr;
  }
  return {};
}

/// Clones a view. Without the plan the clone is the same as the original, and
/// may be merged with it.
void Rebuilder::cloneView(Value residual, Value result) {
  OpBuilder builder(findFirstUser(result));
  Operation *view = builder.clone(*residual.getDefiningOp());
  if (OpResult source = resultOf.lookup(view->getOperand(0)))
    view->setOperand(0, source);
  result.replaceAllUsesWith(view->getResult(0));
}

/// Fuses the kernel that computes `residual` into all users of `result`, if
/// that is possible.
bool Rebuilder::fuseIntoUsers(Value residual, Value result) {
  auto original = residual.getDefiningOp<LinalgOp>();
  if (!original || !isFusableProducer(original))
    return false;
  IRRewriter rewriter(original->getContext());
  rewriter.setInsertionPoint(findFirstUser(result));
  auto producer = cast<LinalgOp>(rewriter.clone(*original));
  for (OpOperand *input : producer.getDpsInputOperands())
    if (OpResult source = resultOf.lookup(input->get()))
      input->set(source);
  Value copy = producer->getResult(cast<OpResult>(residual).getResultNumber());
  SetVector<Operation *> users(result.user_begin(), result.user_end());
  result.replaceAllUsesWith(copy);

  bool readsForward = llvm::any_of(producer.getDpsInputs(), [&](Value input) {
    auto kernel = input.getDefiningOp<LinalgOp>();
    return isa<TensorType>(input.getType()) && !isa<BlockArgument>(input) &&
           input.getDefiningOp() != plan &&
           !matchPattern(input, m_Constant()) &&
           !(kernel && readsNoTensor(kernel));
  });
  if (readsForward || llvm::any_of(users, [&](Operation *user) {
        auto consumer = dyn_cast<LinalgOp>(user);
        return !consumer || !canFuseCheaply(producer, consumer);
      })) {
    copy.replaceAllUsesWith(result);
    producer->erase();
    return false;
  }
  for (Operation *user : users) {
    linalg::GenericOp fused =
        fuse(rewriter, producer, cast<LinalgOp>(user),
             /*keepResults=*/false, /*mergesInputs=*/true);
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, fused);
  }
  return true;
}

/// Collects the operations that compute `value` from saved residuals, arguments
/// and constants.
LogicalResult Rebuilder::collectOps(Value value) {
  sources.clear();
  auto slice = collectSlice(value, [&](Value read) -> FailureOr<bool> {
    OpResult result = resultOf.lookup(read);
    bool isStart =
        isa<BlockArgument>(read) ||
        (result && !plan.getDecision(result.getResultNumber()).runsAgain());
    if (read != value) {
      if (!isa<TensorType>(read.getType()) || matchPattern(read, m_Constant()))
        return false;
      if (isStart) {
        sources.insert(read);
        return false;
      }
    }
    Operation *op = read.getDefiningOp();
    if (!isPure(op))
      return op->emitError("operation with side effects would run again in the "
                           "backward; run -remat-plan-functions instead of "
                           "editing what it made");
    return true;
  });
  if (failed(slice))
    return failure();
  ops = std::move(*slice);
  return success();
}

/// Recomputes `residual` before the first user of `result`. A barrier keeps CSE
/// from merging the clones with the originals.
LogicalResult Rebuilder::cloneSlice(Value residual, Value result) {
  if (failed(collectOps(residual)))
    return failure();
  Operation *user = findFirstUser(result);
  OpBuilder builder(user);
  // If all sources are constants, the barrier is on one of them.
  if (sources.empty())
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (sources.empty() && isa<TensorType>(operand.getType()) &&
            matchPattern(operand, m_Constant()))
          sources.insert(operand);
  IRMapping mapping;
  for (Value source : sources)
    if (OpResult read = resultOf.lookup(source))
      mapping.map(source, read);
  if (!sources.empty())
    setPhase(createGuard(builder, residual.getLoc(), sources.getArrayRef(),
                         getAwaited(user), mapping),
             kBackwardPhase);
  for (Operation *op : ops)
    cloneRecompute(builder, op, mapping, kBackwardPhase);
  result.replaceAllUsesWith(mapping.lookup(residual));
  return success();
}

LogicalResult Rebuilder::rebuild(Value residual, Value result) {
  if (isReshape(residual.getDefiningOp())) {
    cloneView(residual, result);
    return success();
  }
  if (fuseIntoUsers(residual, result))
    return success();
  return cloneSlice(residual, result);
}

void Rebuilder::keepSaved() {
  SmallVector<Value> saved, results;
  SmallVector<Attribute> decisions;
  for (auto [index, residual] : llvm::enumerate(plan.getResiduals())) {
    Value result = plan.getResult(index);
    if (result.use_empty())
      continue;
    saved.push_back(residual);
    results.push_back(result);
    decisions.push_back(plan.getDecision(index));
  }
  if (!saved.empty()) {
    OpBuilder builder(plan);
    auto rest =
        PlanOp::create(builder, plan.getLoc(), saved, ValueRange(), decisions);
    for (auto [result, kept] : llvm::zip_equal(results, rest.getResults()))
      result.replaceAllUsesWith(kept);
  }
  plan.erase();
}

/// Goes from the last value to the first: the recomputation of one may read
/// another one that is recomputed. An argument of the function is never
/// recomputed, whatever the plan says.
LogicalResult Rebuilder::run() {
  for (int64_t index = plan.getNumResults() - 1; index >= 0; --index)
    if (plan.getDecision(index).runsAgain() &&
        isa<OpResult>(plan.getResiduals()[index]) &&
        !plan.getResult(index).use_empty() &&
        failed(rebuild(plan.getResiduals()[index], plan.getResult(index))))
      return failure();
  keepSaved();
  return success();
}

LogicalResult mlir::remat::rebuildResiduals(PlanOp plan,
                                            const BackwardBorder &border) {
  return Rebuilder(plan, border).run();
}
