//===- RouteResiduals.cpp - Send new values to the backward ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a recompute starts from has to reach the backward by the way that the
// deleted residuals took, or by a cheaper one.
//
//===----------------------------------------------------------------------===//

#include "Tapes.h"
#include "remat/Analysis/Cost.h"
#include "remat/Transforms/Plan/ResidualPaths.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Routes
//===----------------------------------------------------------------------===//

namespace {
/// Values that have reached the backward while others are still on their way.
/// An operation that gets a new result is replaced, and the values here are
/// operands of a detached operation, so that they are replaced along with it.
class RoutedValues {
public:
  explicit RoutedValues(MLIRContext *context)
      : holder(UnrealizedConversionCastOp(Operation::create(
            OperationState(UnknownLoc::get(context),
                           UnrealizedConversionCastOp::getOperationName())))) {}

  void push_back(Value value) { holder->getInputsMutable().append(value); }
  OperandRange get() { return holder->getInputs(); }

private:
  OwningOpRef<UnrealizedConversionCastOp> holder;
};
} // namespace

/// Returns true if `value` may be an operand of `op`. Forward operations come
/// before backward ones, so only the borders of isolated operations matter.
static bool isVisibleAt(Value value, Operation *op) {
  Region *home = value.getParentRegion();
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion()) {
    if (region == home)
      return true;
    if (region->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return false;
  }
  return false;
}

Value ResidualPaths::route(Value value, Block *scope, Operation *backward) {
  if (isVisibleAt(value, backward))
    return value;
  Operation *forwardParent = scope->getParentOp();
  Operation *backwardParent = backward->getParentOp();

  if (auto outerBackward = dyn_cast<BackwardOp>(backwardParent)) {
    auto outer = dyn_cast<RegionOp>(forwardParent);
    if (!outer)
      return {};
    auto argument = dyn_cast<BlockArgument>(value);
    bool isInput = argument && argument.getOwner() == outer.getBodyBlock();
    Value outside = isInput ? outer->getOperand(argument.getArgNumber())
                            : addResidual(outer, value);
    Value crossed =
        route(outside, scope->getParentOp()->getBlock(), outerBackward);
    if (!crossed)
      return {};
    return isInput ? outerBackward.addInput(crossed)
                   : outerBackward.addResidual(crossed);
  }

  if (auto backwardLoop = dyn_cast<scf::ForOp>(backwardParent)) {
    auto forwardLoop = dyn_cast<scf::ForOp>(forwardParent);
    // The region was loop-invariant, and has left its loop.
    if (!forwardLoop)
      return route(value, scope, backwardLoop);
    return routeIntoLoop(value, forwardLoop, backwardLoop, backward);
  }

  if (isBranch(backwardParent))
    return isBranch(forwardParent)
               ? routeIntoBranch(value, forwardParent, backwardParent, backward)
               : route(value, scope, backwardParent);

  auto forwardFunction = dyn_cast<func::FuncOp>(forwardParent);
  auto backwardFunction = dyn_cast<func::FuncOp>(backwardParent);
  if (forwardFunction && backwardFunction)
    return routeThroughCalls(value, forwardFunction, backwardFunction);
  return {};
}

/// Returns `value` from `function` as result `number`, in all its calls.
void ResidualPaths::addResult(func::FuncOp function, Value value,
                              unsigned &number) {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [index, operand] : llvm::enumerate(end->getOperands()))
    if (operand == value) {
      number = index;
      return;
    }
  number = end->getNumOperands();
  end->insertOperands(number, value);
  (void)function.insertResult(number, value.getType(), {});
  for (func::CallOp &call : calls[function]) {
    OpBuilder builder(call);
    func::CallOp old = call;
    call = func::CallOp::create(builder, old.getLoc(), function,
                                old.getOperands());
    call->setDiscardableAttrs(old->getDiscardableAttrDictionary());
    old->replaceAllUsesWith(call->getResults().drop_back());
    for (auto &[backward, links] : callLinks)
      for (CallLink &link : links)
        if (link.forward == old)
          link.forward = call;
    old->erase();
  }
}

/// As an argument that every call of the backward function gets from the call
/// of the forward function that belongs to it.
Value ResidualPaths::routeThroughCalls(Value value, func::FuncOp forward,
                                       func::FuncOp backward) {
  auto it = callLinks.find(backward);
  if (it == callLinks.end() || it->second.size() != calls[backward].size())
    return {};
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned number;
  if (argument)
    number = argument.getArgNumber();
  else
    addResult(forward, value, number);

  RoutedValues passed(forward.getContext());
  for (CallLink link : it->second) {
    Value outside = argument ? link.forward.getOperand(number)
                             : link.forward.getResult(number);
    Value routed = route(outside, link.forward->getBlock(), link.backward);
    if (!routed)
      return {};
    passed.push_back(routed);
  }
  SmallVector<CallLink> links = callLinks[backward];
  for (BlockArgument known : backward.getArguments())
    if (llvm::all_of(llvm::zip_equal(links, passed.get()), [&](auto pair) {
          auto &[link, value] = pair;
          return link.backward.getOperand(known.getArgNumber()) == value;
        }))
      return known;
  unsigned last = backward.getNumArguments();
  if (failed(
          backward.insertArgument(last, value.getType(), {}, value.getLoc())))
    return {};
  for (auto [link, operand] : llvm::zip_equal(links, passed.get()))
    link.backward->insertOperands(last, operand);
  return backward.getArgument(last);
}

/// As a result of the forward branch, which the backward branch, taken for the
/// same reason, sees.
Value ResidualPaths::routeIntoBranch(Value value, Operation *forward,
                                     Operation *backward, Operation *before) {
  if (!isDefinedIn(value, forward))
    return route(value, forward->getBlock(), backward);
  if (auto slice = getFreeSlice(value, forward, {}))
    return cloneFree(value, *slice, forward, backward, {}, before);
  auto isValue = [&](OpResult result) {
    return getOnlyDefinedValue(result) == value;
  };
  auto result = llvm::find_if(forward->getResults(), isValue);
  Value left = result != forward->getResults().end()
                   ? Value(*result)
                   : appendBranchResults(forward, value)->getResults().back();
  return route(left, left.getDefiningOp()->getBlock(), backward);
}

Value ResidualPaths::routeIntoLoop(Value value, scf::ForOp forward,
                                   scf::ForOp backward, Operation *before) {
  if (!isDefinedIn(value, forward))
    return route(value, forward->getBlock(), backward);
  auto it = links.find({forward.getBody(), backward});
  if (it == links.end())
    return {};
  LoopLink link = it->second;
  hoistIndex(link.read, backward);
  if (auto slice = getFreeSlice(value, forward, link))
    return cloneFree(value, *slice, forward, backward, link, before);
  return routeThroughTape(value, forward, backward, link, before);
}

std::optional<ResidualPaths::FreeSlice>
ResidualPaths::getFreeSlice(Value value, Operation *forward,
                            const LoopLink &link) {
  FreeSlice slice;
  FailureOr<SetVector<Operation *>> ops =
      collectSlice(value, [&](Value read) -> FailureOr<bool> {
        if (read == link.written)
          return false;
        if (!isDefinedIn(read, forward)) {
          slice.inputs.push_back(read);
          return false;
        }
        Operation *op = read.getDefiningOp();
        if (!op || (!isFree(op) && !isGenerator(op)))
          return failure();
        return true;
      });
  if (failed(ops))
    return std::nullopt;
  slice.ops = std::move(*ops);
  return slice;
}

Value ResidualPaths::cloneFree(Value value, const FreeSlice &slice,
                               Operation *forward, Operation *backward,
                               const LoopLink &link, Operation *before) {
  RoutedValues inputs(value.getContext());
  for (Value input : slice.inputs) {
    Value routed = route(input, forward->getBlock(), backward);
    if (!routed)
      return {};
    inputs.push_back(routed);
  }
  IRMapping mapping;
  if (link.written)
    mapping.map(link.written, link.read);
  mapping.map(ValueRange(slice.inputs), inputs.get());
  OpBuilder builder(before);
  for (Operation *op : slice.ops)
    cloneRecompute(builder, op, mapping, kRecomputePhase);
  return mapping.lookup(value);
}

/// The size of the tapes that `loop` writes at `index`.
static OpFoldResult getLength(scf::ForOp loop, Value index) {
  for (OpResult result : loop.getResults()) {
    TapeWriteOp write = getWriteOf(result);
    if (!write || !isSameIndex(write.getIndex(), index))
      continue;
    OpBuilder builder(loop);
    return tensor::getMixedSize(builder, loop.getLoc(),
                                loop.getInitArgs()[result.getResultNumber()],
                                0);
  }
  return {};
}

/// A result of `loop` that records `value` at `index` in each iteration; null
/// if its size is not known before the loop.
static Value addTape(scf::ForOp loop, Value value, Value index) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [number, yielded] : llvm::enumerate(yield.getOperands())) {
    TapeWriteOp write = getWriteOf(loop.getResult(number));
    if (write && write.getValue() == value &&
        isSameIndex(write.getIndex(), index))
      return loop.getResult(number);
  }
  OpBuilder builder(loop);
  Location loc = value.getLoc();
  Type element = value.getType();
  SmallVector<OpFoldResult> sizes{getLength(loop, index)};
  if (auto tensor = dyn_cast<RankedTensorType>(element)) {
    llvm::append_range(sizes, getSizesBefore(builder, loop, value));
    element = tensor.getElementType();
  }
  if (llvm::is_contained(sizes, OpFoldResult()) ||
      !TensorType::isValidElementType(element))
    return {};
  SmallVector<Value> inits(loop.getInitArgs());
  inits.push_back(tensor::EmptyOp::create(builder, loc, sizes, element));
  Type type = inits.back().getType();
  scf::ForOp grown = takeLoop(builder, loop, inits);
  BlockArgument tape = grown.getBody()->addArgument(type, loc);
  builder.setInsertionPoint(yield);
  auto write = TapeWriteOp::create(builder, loc, value, tape, index);
  yield->insertOperands(yield->getNumOperands(), write.getResult());
  loop->replaceAllUsesWith(grown->getResults().drop_back());
  loop->erase();
  return grown->getResults().back();
}

Value ResidualPaths::routeThroughTape(Value value, scf::ForOp forward,
                                      scf::ForOp backward, const LoopLink &link,
                                      Operation *before) {
  Value recorded = addTape(forward, value, link.written);
  if (!recorded)
    return {};
  Value tape = route(recorded, recorded.getDefiningOp()->getBlock(), backward);
  if (!tape)
    return {};
  for (Operation *user : tape.getUsers())
    if (auto read = dyn_cast<TapeReadOp>(user);
        read && read->getBlock() == before->getBlock() &&
        isSameIndex(read.getIndex(), link.read) &&
        read->isBeforeInBlock(before))
      return read.getValue();
  OpBuilder builder(before);
  auto read = TapeReadOp::create(builder, value.getLoc(), value.getType(), tape,
                                 link.read);
  setPhase(read, kBackwardPhase);
  return read.getValue();
}
