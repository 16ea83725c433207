//===- OldValueReads.cpp - Who reads a parameter's old value --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/OldValueReads.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::remat;

using AliasSet = llvm::SetVector<Value>;

/// Only what has a buffer can share one.
static void addBuffers(ValueRange values, AliasSet &aliases) {
  for (Value value : values)
    if (isa<TensorType>(value.getType()))
      aliases.insert(value);
}

/// Returns true if results are new buffers, or those of destinations.
static bool makesNewValues(Operation *op) {
  return isa<DestinationStyleOpInterface, tensor::PadOp, tensor::ConcatOp,
             tensor::GatherOp, tensor::GenerateOp, TapeWriteOp>(op);
}

namespace {
/// Finds the values that may share the buffer of a value, in each function once
/// for each argument.
class AliasFinder {
public:
  AliasSet find(Value root) {
    AliasSet aliases;
    aliases.insert(root);
    for (unsigned next = 0; next < aliases.size(); ++next)
      for (OpOperand &use : aliases[next].getUses())
        addAliases(use, aliases);
    return aliases;
  }

private:
  void addAliases(OpOperand &use, AliasSet &aliases);
  void addCallAliases(CallOpInterface call, unsigned index, AliasSet &aliases);

  /// The results that an argument of a function may be. Null while that is
  /// being found out.
  DenseMap<Value, std::unique_ptr<BitVector>> returned;
};
} // namespace

/// Results of a call that may be its argument. A callee that is not known, has
/// branches or calls itself may return anything.
void AliasFinder::addCallAliases(CallOpInterface call, unsigned index,
                                 AliasSet &aliases) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  Region *body = callee ? callee.getCallableRegion() : nullptr;
  if (!body || !body->hasOneBlock() || index >= body->getNumArguments())
    return addBuffers(call->getResults(), aliases);
  BlockArgument argument = body->getArgument(index);
  if (returned.try_emplace(argument).second) {
    AliasSet inside = find(argument);
    auto results = std::make_unique<BitVector>();
    for (Value value : body->front().getTerminator()->getOperands())
      results->push_back(inside.contains(value));
    returned[argument] = std::move(results);
  }
  const BitVector *results = returned[argument].get();
  for (OpResult result : call->getResults())
    if (!results || results->test(result.getResultNumber()))
      addBuffers(result, aliases);
}

/// Adds the results and arguments to which the terminator passes `use`.
static void addYieldAliases(OpOperand &use, AliasSet &aliases) {
  Operation *parent = use.getOwner()->getParentOp();
  unsigned index = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    addBuffers(loop.getRegionIterArg(index), aliases);
    addBuffers(loop.getResult(index), aliases);
  } else if (isa<scf::IfOp, scf::ExecuteRegionOp, scf::IndexSwitchOp, RegionOp,
                 BackwardOp>(parent)) {
    addBuffers(parent->getResult(index), aliases);
  } else if (!isa<FunctionOpInterface, linalg::LinalgOp>(parent)) {
    // Such as scf.while: whatever it carries.
    for (Region &region : parent->getRegions())
      for (Block &block : region)
        addBuffers(block.getArguments(), aliases);
    addBuffers(parent->getResults(), aliases);
  }
}

void AliasFinder::addAliases(OpOperand &use, AliasSet &aliases) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return addYieldAliases(use, aliases);
  if (makesNewValues(op))
    return;
  if (auto barrier = dyn_cast<BarrierOp>(op)) {
    if (index < barrier.getValues().size())
      addBuffers(barrier.getResults()[index], aliases);
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (BlockArgument argument = loop.getTiedLoopRegionIterArg(&use)) {
      addBuffers(argument, aliases);
      addBuffers(loop.getTiedLoopResult(&use), aliases);
    }
    return;
  }
  if (isa<RegionOp, BackwardOp>(op))
    return addBuffers(op->getRegion(0).getArgument(index), aliases);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return addCallAliases(call, index, aliases);
  // Views, remat.name, arith.select and what is unknown: any result, and what
  // the body of an unknown operation takes.
  addBuffers(op->getResults(), aliases);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      addBuffers(block.getArguments(), aliases);
}

AliasSet mlir::remat::collectAliases(Value root) {
  return AliasFinder().find(root);
}

bool mlir::remat::isTrained(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return false;
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  return function &&
         (function.getArgAttr(index, opt::OptDialect::getParamAttrName()) ||
          function.getArgAttr(index, opt::OptDialect::getStateAttrName()));
}

bool mlir::remat::isOverwritten(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
    return writer.isDpsInit(&operand);
  auto step = dyn_cast<opt::EagerStepOp>(op);
  return step && (operand.get() == step.getParam() ||
                  llvm::is_contained(step.getStates(), operand.get()));
}

mlir::remat::OverwrittenValues::OverwrittenValues(Operation *root) {
  root->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isa<TensorType>(operand.get().getType()) && isOverwritten(operand))
        values.insert(operand.get());
  });
}

Operation *mlir::remat::findLastRead(Block &block, Value value) {
  Operation *last = nullptr;
  for (Value alias : collectAliases(value))
    for (Operation *user : alias.getUsers()) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (ancestor && (!last || last->isBeforeInBlock(ancestor)))
        last = ancestor;
    }
  return last;
}
