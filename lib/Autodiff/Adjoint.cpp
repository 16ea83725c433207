//===- Adjoint.cpp - Reverse mode over blocks -----------------------------===//
//
// One walk backwards over a block. What makes it more than a loop over rules is
// how contributions to one cotangent are summed: in place where that is free.
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"

#include "remat/Autodiff/DifferentiableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Small things that every part of the driver needs
//===----------------------------------------------------------------------===//

static Value createEmptyLike(OpBuilder &builder, Location loc, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  return tensor::EmptyOp::create(builder, loc,
                                 tensor::getMixedSizes(builder, loc, like),
                                 type.getElementType(), type.getEncoding());
}

Value mlir::remat::createZerosLike(OpBuilder &builder, Location loc,
                                   Value like) {
  Type element = getElementTypeOrSelf(like.getType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  if (!isa<RankedTensorType>(like.getType()))
    return zero;
  Value empty = createEmptyLike(builder, loc, like);
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

BackwardOp mlir::remat::createProvisionalBackward(OpBuilder &builder,
                                                  Location loc) {
  auto backward =
      BackwardOp::create(builder, loc, TypeRange(), ValueRange(), StringAttr());
  backward.getBody().emplaceBlock();
  return backward;
}

void mlir::remat::markBackward(Operation *op) {
  op->setAttr(RematDialect::getPhaseAttrName(),
              StringAttr::get(op->getContext(), kBackwardPhase));
  // The scalars inside a kernel are no operations of the step.
  if (isa<linalg::LinalgOp>(op))
    return;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      markBackward(&inner);
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
// Sums of contributions
//===----------------------------------------------------------------------===//

static bool isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
}

/// Whether result `index` of `op` is its `outs` plus something, so that it can
/// start from another sum than zero.
static bool addsToInit(linalg::LinalgOp op, unsigned index) {
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(index);
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  BlockArgument sum = op.getMatchingBlockArgument(op.getDpsInitOperand(index));
  return add && yielded.hasOneUse() && sum.hasOneUse() &&
         (add.getLhs() == sum || add.getRhs() == sum);
}

/// Adds `contribution` to `sum` by starting `contribution`'s own summation from
/// it. Fails where that is not possible or not free.
static LogicalResult
startFrom(Value sum, Value contribution,
          const DenseMap<Operation *, unsigned> &madeByRule) {
  auto op = contribution.getDefiningOp<linalg::LinalgOp>();
  if (!op || !contribution.use_empty() ||
      contribution.getType() != sum.getType())
    return failure();
  // `sum` must exist before `op`: it does if only `op` is that new.
  auto opOrder = madeByRule.find(op);
  if (opOrder == madeByRule.end())
    return failure();
  if (Operation *sumOp = sum.getDefiningOp())
    if (auto sumOrder = madeByRule.find(sumOp);
        sumOrder != madeByRule.end() &&
        (sumOp->getBlock() != op->getBlock() ||
         sumOrder->second >= opOrder->second || !sumOp->isBeforeInBlock(op)))
      return failure();
  unsigned index = cast<OpResult>(contribution).getResultNumber();
  OpOperand *init = op.getDpsInitOperand(index);
  if (!isZeroFill(init->get()) || !addsToInit(op, index))
    return failure();
  init->set(sum);
  return success();
}

/// `sum` + `contribution` as an operation of its own.
static Value createAdd(OpBuilder &builder, Location loc, Value sum,
                       Value contribution) {
  auto type = dyn_cast<RankedTensorType>(sum.getType());
  if (!type)
    return arith::AddFOp::create(builder, loc, sum, contribution);
  // An accumulator that the scope was given is updated where it is.
  if (isa<BlockArgument>(sum)) {
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               builder, loc, type, contribution, sum,
               ArrayRef<AffineMap>{identity, identity}, iterators,
               [](OpBuilder &nested, Location loc, ValueRange args) {
                 Value added =
                     arith::AddFOp::create(nested, loc, args[1], args[0]);
                 linalg::YieldOp::create(nested, loc, added);
               })
        .getResult(0);
  }
  Value empty = createEmptyLike(builder, loc, contribution);
  return linalg::AddOp::create(builder, loc, ValueRange{sum, contribution},
                               ValueRange{empty})
      .getResult(0);
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
  auto [it, isFirst] = scope.cotangents.try_emplace(value, contribution);
  if (isFirst)
    return success();
  if (succeeded(startFrom(it->second, contribution, madeByRule)))
    it->second = contribution;
  else
    it->second = createAdd(scope.builder, loc, it->second, contribution);
  return success();
}

//===----------------------------------------------------------------------===//
// One operation by its rule
//===----------------------------------------------------------------------===//

namespace {
class RuleContext : public VJPContext {
public:
  RuleContext(Adjoint &adjoint, const Activity &activity, AdjointScope &scope,
              Operation *op)
      : VJPContext(scope.builder), adjoint(adjoint), activity(activity),
        scope(scope), op(op) {}

  Value cotangent(unsigned index) override {
    return scope.cotangents.lookup(op->getResult(index));
  }
  Value cotangentOrZero(unsigned index) override {
    if (Value present = cotangent(index))
      return present;
    return createZerosLike(builder, op->getLoc(), op->getResult(index));
  }
  bool isWanted(unsigned index) override {
    return isCapturedValueWanted(op->getOperand(index));
  }
  void accumulate(unsigned index, Value value) override {
    accumulateCaptured(op->getOperand(index), value);
  }
  bool isCapturedValueWanted(Value captured) override {
    return activity.isActive(captured) && hasCotangentType(captured.getType());
  }
  void accumulateCaptured(Value captured, Value value) override {
    if (!isCapturedValueWanted(captured))
      return;
    if (failed(adjoint.accumulate(scope, op->getLoc(), captured, value)))
      result = failure();
  }

  LogicalResult result = success();

private:
  Adjoint &adjoint;
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

LogicalResult Adjoint::reverseByRule(Operation *op, AdjointScope &scope) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError()
           << "has no derivative rule; implement DifferentiableOpInterface for "
              "it (docs/add-a-rule.md), or lower it to operations that have "
              "one";

  madeByRule.clear();
  MadeByRule listener(madeByRule);
  OpBuilder::Listener *outer = scope.builder.getListener();
  scope.builder.setListener(&listener);
  RuleContext context(*this, activity, scope, op);
  LogicalResult result = differentiable.buildVJP(context);
  scope.builder.setListener(outer);
  scope.builder.setInsertionPointToEnd(scope.builder.getBlock());
  madeByRule.clear();
  return failure(failed(result) || failed(context.result));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult Adjoint::reverse(Operation *op, AdjointScope &scope) {
  auto hasCotangent = [&](Value result) {
    return scope.cotangents.contains(result);
  };
  if (llvm::none_of(op->getResults(), hasCotangent))
    return success();
  SmallVector<Value> active = llvm::filter_to_vector(
      getInputs(op), [&](Value input) { return activity.isActive(input); });
  for (Value value : active)
    if (!hasCotangentType(value.getType()))
      return op->emitOpError()
             << "is differentiated with respect to a value of type "
             << value.getType()
             << ", but derivatives exist for floating-point scalars and ranked "
                "tensors of them only";

  SmallVector<Value> results(op->getResults());
  LogicalResult result = success();
  if (!active.empty()) {
    Operation *last = scope.builder.getBlock()->empty()
                          ? nullptr
                          : &scope.builder.getBlock()->back();
    if (auto region = dyn_cast<RegionOp>(op))
      result = reverseRegion(region, scope);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      result = reverseLoop(loop, scope);
    else if (auto call = dyn_cast<func::CallOp>(op))
      result = reverseCall(call, scope);
    else
      result = reverseByRule(op, scope);
    Block *block = scope.builder.getBlock();
    for (Operation *made = last ? last->getNextNode()
                                : (block->empty() ? nullptr : &block->front());
         made; made = made->getNextNode())
      markBackward(made);
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

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//
LogicalResult Adjoint::reverseCall(func::CallOp call, AdjointScope &scope) {
  return call->emitOpError() << "is not differentiated yet; inline it";
}
