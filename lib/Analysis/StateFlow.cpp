//===- StateFlow.cpp - Where a random state comes from --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/StateFlow.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isRandomState(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return isa<RngType>(type) ||
         (vector && vector.getShape() == ArrayRef<int64_t>{2} &&
          vector.getElementType().isSignlessInteger(64));
}

namespace {
/// The arguments that results of functions depend on, of each once. None while
/// that is being found out.
using KnownSources = DenseMap<std::pair<Region *, unsigned>,
                              std::optional<llvm::SetVector<BlockArgument>>>;

/// Follows values back to the arguments of a function.
class StateFlow {
public:
  explicit StateFlow(KnownSources &known) : known(known) {}

  llvm::SetVector<BlockArgument> run(Value state) {
    add(state);
    while (!pending.empty())
      visit(pending.pop_back_val());
    return std::move(sources);
  }

private:
  /// Tensors are data: what a state is computed from is a state or a number.
  void add(ValueRange values) {
    for (Value value : values)
      if (!isa<ShapedType>(value.getType()) || isRandomState(value.getType()))
        if (visited.insert(value).second)
          pending.push_back(value);
  }
  void addYielded(Operation *op, unsigned index) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          add(block.getTerminator()->getOperand(index));
  }
  /// Adds all values that an unknown operation with regions may forward.
  void addAll(Operation *op) {
    add(op->getOperands());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          add(block.getTerminator()->getOperands());
  }

  void visit(Value value);
  void visitArgument(BlockArgument argument);
  void visitCall(CallOpInterface call, unsigned result);

  KnownSources &known;
  llvm::SetVector<BlockArgument> sources;
  llvm::DenseSet<Value> visited;
  SmallVector<Value> pending;
};
} // namespace

void StateFlow::visitArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<FunctionOpInterface>(parent)) {
    if (argument.getOwner()->isEntryBlock() &&
        isRandomState(argument.getType()))
      sources.insert(argument);
    return;
  }
  if (isa<RegionOp, BackwardOp>(parent))
    return add(parent->getOperand(argument.getArgNumber()));
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (argument == loop.getInductionVar())
      return;
    add(loop.getTiedLoopInit(argument)->get());
    return add(loop.getTiedLoopYieldedValue(argument)->get());
  }
  if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    unsigned index = argument.getArgNumber();
    if (argument.getOwner() == loop.getAfterBody())
      return add(loop.getConditionOp().getArgs()[index]);
    add(loop.getInits()[index]);
    return add(loop.getYieldOp()->getOperand(index));
  }
  addAll(parent);
}

void StateFlow::visitCall(CallOpInterface call, unsigned result) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  Region *body = callee ? callee.getCallableRegion() : nullptr;
  if (!body || !body->hasOneBlock())
    return add(call.getArgOperands());
  std::pair<Region *, unsigned> key(body, result);
  if (known.try_emplace(key).second) {
    Value returned = body->front().getTerminator()->getOperand(result);
    llvm::SetVector<BlockArgument> found = StateFlow(known).run(returned);
    known[key] = std::move(found);
  }
  // Results of a function that calls itself may depend on all arguments.
  const auto &found = known[key];
  if (!found)
    return add(call.getArgOperands());
  for (BlockArgument source : *found)
    add(call.getArgOperands()[source.getArgNumber()]);
}

void StateFlow::visit(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return visitArgument(argument);
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (auto call = dyn_cast<CallOpInterface>(op))
    return visitCall(call, result.getResultNumber());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return add(loop.getTiedLoopRegionIterArg(result));
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return add(loop.getConditionOp().getArgs()[result.getResultNumber()]);
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return add(barrier.getValues()[result.getResultNumber()]);
  if (isa<RegionOp, BackwardOp, scf::IfOp, scf::ExecuteRegionOp,
          scf::IndexSwitchOp>(op))
    return addYielded(op, result.getResultNumber());
  addAll(op);
}

llvm::SetVector<BlockArgument> mlir::remat::findStateSources(Value state) {
  KnownSources known;
  return StateFlow(known).run(state);
}
