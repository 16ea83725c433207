//===- Adjoint.cpp - Reverse mode over blocks -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk backwards over a block: rules for single operations, files of their
// own for those with bodies.
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "CustomVJP.h"
#include "ScalarAdjoint.h"

#include "remat/Analysis/Sources.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Autodiff/ScalarDifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Transforms/Decompose/DecomposableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Small things that every part of the driver needs
//===----------------------------------------------------------------------===//

Value mlir::remat::createZerosLike(OpBuilder &builder, Location loc,
                                   Value like) {
  Type element = getElementTypeOrSelf(like.getType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  if (!isa<RankedTensorType>(like.getType()))
    return zero;
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, like), element,
      cast<RankedTensorType>(like.getType()).getEncoding());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

BackwardOp mlir::remat::createProvisionalBackward(OpBuilder &builder,
                                                  Location loc) {
  auto backward =
      BackwardOp::create(builder, loc, TypeRange(), ValueRange(), ValueRange(),
                         ValueRange(), ValueRange(), StringAttr());
  backward.getBody().emplaceBlock();
  return backward;
}

void mlir::remat::markBackward(Operation *op) {
  // The backward of a loop may have recomputes already.
  if (getPhase(op).empty())
    setPhase(op, kBackwardPhase);
  // The scalars inside a kernel are no operations of the step.
  if (isa<DestinationStyleOpInterface>(op))
    return;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      markBackward(&inner);
}

FailureOr<SmallVector<Value>>
mlir::remat::collectActiveCaptures(Operation *op, const Activity &activity,
                                   const CotangentKeys &keys) {
  SmallVector<Value> captures;
  DenseSet<Value> seen;
  auto capture = [&](Value key, Value value) {
    if (seen.insert(key).second)
      captures.push_back(value);
  };
  for (Region &region : op->getRegions())
    region.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (activity.isActive(operand) && !isDefinedIn(operand, op))
          capture(keys.get(operand), operand);
      if (keys.isRepetition(inner))
        for (Value result : inner->getResults())
          if (Value key = keys.get(result);
              activity.isActive(result) && !isDefinedIn(key, op))
            capture(key, key);
      return !isa<RegionOp>(inner) &&
                     inner->hasTrait<OpTrait::IsIsolatedFromAbove>()
                 ? WalkResult::skip()
                 : WalkResult::advance();
    });
  for (Value value : captures)
    if (!hasCotangentType(value.getType()))
      return op->emitOpError() << "reads a value of type " << value.getType()
                               << ", which has no derivative";
  return captures;
}

LogicalResult mlir::remat::emitHasNoCotangent(Operation *op, Type type) {
  return op->emitOpError()
         << "is differentiated with respect to a value of type " << type
         << ", but derivatives exist for floating-point scalars of 16 or "
            "more bits and dense ranked tensors of them only; compute on "
            "those (a complex number as its two parts), or give the "
            "function around it a derivative with remat.custom_vjp";
}

void mlir::remat::eraseDead(Block &block, Operation *first) {
  Operation *next;
  for (Operation *op = block.empty() ? nullptr : &block.back();
       op && op != first; op = next) {
    next = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Cotangents
//===----------------------------------------------------------------------===//

/// Returns true if sizes of `value` are known wherever it has a cotangent.
static bool hasKnownSizes(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return !type || type.hasStaticShape();
}

bool CotangentKeys::isRepetition(Operation *op) const {
  Operation *first = equal.getFirst(op);
  return first && llvm::all_of(op->getResults(), [&](OpResult result) {
           return !activity.isActive(result) ||
                  (activity.isActive(
                       first->getResult(result.getResultNumber())) &&
                   (hasKnownSizes(result) ||
                    first->getBlock() == op->getBlock()));
         });
}

Value CotangentKeys::get(Value value) const {
  value = lookThroughBorders(value);
  if (auto result = dyn_cast<OpResult>(value))
    if (isRepetition(result.getOwner()))
      return equal.resolve(value);
  return value;
}

LogicalResult Adjoint::accumulate(AdjointScope &scope, Location loc,
                                  Value value, Value contribution) {
  Type type = value.getType();
  if (contribution.getType() != type) {
    if (!isa<RankedTensorType>(type) ||
        !tensor::CastOp::areCastCompatible(contribution.getType(), type))
      return emitError(loc)
             << "derivative rule gives a cotangent of type "
             << contribution.getType() << " for a value of type " << type;
    contribution =
        tensor::CastOp::create(scope.builder, loc, type, contribution);
  }
  static const DenseMap<Operation *, unsigned> noneMayChange;
  Sum sum = scope.cotangents.lookup(scope.keys.get(value));
  bool inPlace = sum.value && (isa<BlockArgument>(sum.value) ||
                               scope.accumulators.contains(sum.value));
  scope.setCotangent(
      value,
      addContribution(scope.builder, loc, sum, contribution, inPlace,
                      sharedContributions.contains(contribution) ? noneMayChange
                                                                 : madeByRule));
  return success();
}

//===----------------------------------------------------------------------===//
// One operation by its rule
//===----------------------------------------------------------------------===//

namespace {
class RuleContext : public VJPContext {
public:
  RuleContext(const Activity &activity, AdjointScope &scope, Operation *op)
      : VJPContext(scope.builder), activity(activity), scope(scope), op(op) {}

  Value cotangent(unsigned index) override {
    return scope.getCotangent(op->getResult(index));
  }
  Value cotangentOrZero(unsigned index) override {
    if (Value present = cotangent(index))
      return present;
    return createZerosLike(builder, op->getLoc(), op->getResult(index));
  }
  bool isWanted(unsigned index) override {
    return isCapturedValueWanted(op->getOperand(index));
  }
  Value getKey(Value value) override { return scope.keys.get(value); }
  bool hasContributions(Value value) override {
    Value key = scope.keys.get(value);
    return scope.getCotangent(key) ||
           llvm::any_of(contributions, [&](const auto &contribution) {
             return scope.keys.get(contribution.first) == key;
           });
  }
  void accumulate(unsigned index, Value value) override {
    accumulateCaptured(op->getOperand(index), value);
  }
  bool isCapturedValueWanted(Value captured) override {
    return activity.isActive(captured) && hasCotangentType(captured.getType());
  }
  void accumulateCaptured(Value captured, Value value) override {
    if (isCapturedValueWanted(captured))
      contributions.emplace_back(captured, value);
  }

  /// Queued until the rule is done: adding may change the operation that makes
  /// a contribution, which the rule may still read or add somewhere else.
  SmallVector<std::pair<Value, Value>> contributions;

private:
  const Activity &activity;
  AdjointScope &scope;
  Operation *op;
};

/// Remembers what a rule makes.
struct MadeByRule : OpBuilder::Listener {
  explicit MadeByRule(DenseMap<Operation *, unsigned> &made) : made(made) {}
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    made.try_emplace(op, made.size());
  }
  DenseMap<Operation *, unsigned> &made;
};
} // namespace

/// The operation that is last in `block`; null if there is none.
static Operation *getLast(Block &block) {
  return block.empty() ? nullptr : &block.back();
}

/// Calls `visit` for the operations of `block` after `last`, all of them if
/// that is null.
static void forEachAfter(Operation *last, Block &block,
                         function_ref<void(Operation *)> visit) {
  for (Operation *op = last            ? last->getNextNode()
                       : block.empty() ? nullptr
                                       : &block.front();
       op; op = op->getNextNode())
    visit(op);
}

/// Says what to do about `op`. Fails.
static LogicalResult emitHasNoRule(Operation *op) {
  InFlightDiagnostic diagnostic = op->emitOpError();
  if (isa<scf::ExecuteRegionOp>(op))
    return diagnostic << "has several blocks; run -lift-cf-to-scf first";
  if (isa<linalg::WinogradInputTransformOp, linalg::WinogradFilterTransformOp,
          linalg::WinogradOutputTransformOp>(op))
    return diagnostic
           << "has no derivative rule; differentiate the convolution that it "
              "is a part of, and transform convolutions after that";
  if (isa<DecomposableOpInterface>(op))
    return diagnostic << "has no derivative rule, and what it is made of is "
                         "known for other forms of it only (-remat-decompose); "
                         "lower it to scf, linalg and tensor";
  if (op->getNumRegions() != 0)
    return diagnostic
           << "has a body, and no derivative rule; to differentiate through "
              "it, implement DecomposableOpInterface, which makes loops and "
              "branches of scf of it (docs/add-a-rule.md), or lower it to "
              "those";
  return diagnostic
         << "has no derivative rule; implement DifferentiableOpInterface for "
            "it (docs/add-a-rule.md), or lower it to operations that have one";
}

LogicalResult Adjoint::reverseByRule(Operation *op, AdjointScope &scope) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable && !isa<ScalarDifferentiableOpInterface>(op))
    return emitHasNoRule(op);

  madeByRule.clear();
  MadeByRule listener(madeByRule);
  OpBuilder::Listener *outer = scope.builder.getListener();
  scope.builder.setListener(&listener);
  Block &block = *scope.builder.getBlock();
  Operation *last = getLast(block);
  RuleContext context(activity, scope, op);
  LogicalResult result = differentiable ? differentiable.buildVJP(context)
                                        : buildScalarVJP(op, context);
  scope.builder.setInsertionPointToEnd(&block);
  if (succeeded(result))
    result = addContributions(op, context.contributions, scope);
  scope.builder.setListener(outer);
  forEachAfter(last, block, [&](Operation *made) {
    made->walk([&](linalg::LinalgOp part) { fixAdjointOrder(part, op); });
  });
  madeByRule.clear();
  return result;
}

LogicalResult
Adjoint::addContributions(Operation *op,
                          ArrayRef<std::pair<Value, Value>> contributions,
                          AdjointScope &scope) {
  DenseSet<Value> seen;
  for (Value contribution : llvm::make_second_range(contributions))
    if (!seen.insert(contribution).second)
      sharedContributions.insert(contribution);
  LogicalResult result = success();
  for (auto [value, contribution] : contributions)
    if (failed(accumulate(scope, op->getLoc(), value, contribution)))
      result = failure();
  sharedContributions.clear();
  return result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult Adjoint::reverse(Operation *op, AdjointScope &scope) {
  if (isa<NameOp, BarrierOp>(op) || scope.keys.isRepetition(op))
    return success();
  auto hasCotangent = [&](Value result) {
    return static_cast<bool>(scope.getCotangent(result));
  };
  bool mayHoldKey = isa<RegionOp>(op) && scope.keys.holdsRepeated(op);
  if (!mayHoldKey && llvm::none_of(op->getResults(), hasCotangent))
    return success();
  SmallVector<Value> active = llvm::filter_to_vector(
      getInputs(op), [&](Value input) { return activity.isActive(input); });
  for (Value value : active)
    if (!hasCotangentType(value.getType()))
      return emitHasNoCotangent(op, value.getType());

  SmallVector<Value> results(op->getResults());
  LogicalResult result = success();
  if (!active.empty()) {
    Block &block = *scope.builder.getBlock();
    Operation *last = getLast(block);
    if (auto region = dyn_cast<RegionOp>(op))
      result = reverseRegion(region, scope);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      result = reverseLoop(loop, scope);
    else if (auto call = dyn_cast<func::CallOp>(op)) {
      if (func::FuncOp rule = findCustomRule(call))
        result = reverseCustomCall(call, rule, scope);
      else
        result = reverseCall(call, scope);
    } else if (isBranch(op))
      result = reverseBranch(op, scope);
    else
      result = reverseByRule(op, scope);
    forEachAfter(last, block, markBackward);
  }
  // Values are compared by address: an erased result must leave no trace.
  for (Value value : results)
    scope.cotangents.erase(value);
  return result;
}

LogicalResult Adjoint::reverseBlock(Block &block, AdjointScope &scope) {
  // The backward may grow at the end of this very block.
  SmallVector<Operation *> ops =
      llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (failed(reverse(op, scope)))
      return failure();
  return success();
}
