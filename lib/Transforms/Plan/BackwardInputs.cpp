//===- BackwardInputs.cpp - Forward values that a backward reads ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backward sees arguments; decisions are about the forward values that they
// hold.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Plan/BackwardInputs.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::remat;

PlanOp BackwardInputs::getPlan() {
  for (PlanOp plan : op.getBodyBlock()->getOps<PlanOp>())
    return plan;
  return {};
}

bool mlir::remat::isReplacedInside(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto backward = dyn_cast<BackwardOp>(user))
      return isReplacedInside(
          backward.getBodyBlock()->getArgument(use.getOperandNumber()));
    if (auto read = dyn_cast<TapeReadOp>(user))
      return isReplacedInside(read.getValue());
    auto plan = dyn_cast<PlanOp>(user);
    return plan && use.getOperandNumber() < plan.getResiduals().size() &&
           plan.getDecision(use.getOperandNumber()).runsAgain();
  });
}

static BackwardInputs getBackwardInputs(RegionOp region, BackwardOp op,
                                        ArrayRef<ResidualRead> reads,
                                        ArrayRef<Operation *> opaque,
                                        ResidualPaths &paths) {
  BackwardInputs backward;
  backward.op = op;
  Block *body = region.getBodyBlock();
  DenseMap<Value, BlockArgument> operandOf;
  for (auto [operand, argument] :
       llvm::zip_equal(region.getInputs(), body->getArguments()))
    operandOf.try_emplace(paths.getOrigin(operand), argument);

  auto set = [&](Value value, BlockArgument argument) {
    if (auto it = backward.have.find(value); it != backward.have.end()) {
      argument.replaceAllUsesWith(it->second);
      backward.valueOf[argument] = value;
    } else {
      backward.set(value, argument);
    }
  };
  for (auto [operand, argument] :
       llvm::zip_equal(op.getInputs(), op.getInputArguments()))
    if (Value value = operandOf.lookup(paths.getOrigin(operand)))
      set(value, argument);
  auto getValue = [&](const ResidualRead &read) {
    return lookThroughNames(region.getYield()->getOperand(read.result));
  };
  for (const ResidualRead &read : reads)
    set(getValue(read), op.getBody().getArgument(read.operand));
  llvm::append_range(backward.cotangents, op.getCotangentArguments());
  llvm::append_range(backward.cotangents, op.getSumArguments());
  for (BlockArgument argument : body->getArguments())
    if (auto it = backward.have.find(argument);
        it != backward.have.end() && !it->second.use_empty())
      backward.operands.push_back(argument);
  SetVector<Value> needed;
  for (const ResidualRead &read : reads) {
    Value value = getValue(read);
    bool stays =
        read.result >= region.getOutputs().size() && opaque[read.result];
    if (!isa<BlockArgument>(value) && !stays &&
        !isReplacedInside(backward.have[value]))
      needed.insert(value);
  }
  backward.needed = needed.takeVector();
  return backward;
}

SmallVector<BackwardInputs>
mlir::remat::getBackwards(RegionOp region, ResidualPaths &paths,
                          SmallVectorImpl<Operation *> &opaque) {
  llvm::MapVector<Operation *, SmallVector<ResidualRead>> readsOf;
  for (const ResidualRead &read : paths.getReads(region, opaque))
    readsOf[read.backward].push_back(read);
  SmallVector<BackwardInputs> backwards;
  for (auto &[backward, reads] : readsOf)
    backwards.push_back(getBackwardInputs(region, cast<BackwardOp>(backward),
                                          reads, opaque, paths));
  return backwards;
}

void mlir::remat::dropUnusedInputs(BackwardOp backward) {
  llvm::BitVector unused = getUnusedInputs(backward);
  SetVector<Value> dropped;
  for (unsigned index : unused.set_bits())
    dropped.insert(backward->getOperand(index));
  eraseInputs(backward, unused);
  for (Value value : dropped)
    if (auto read = value.getDefiningOp<TapeReadOp>(); read && read.use_empty())
      read.erase();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// A called function is inside the regions that call it.
static void addCalleesFirst(func::FuncOp function, SymbolTable &symbols,
                            DenseSet<Operation *> &seen,
                            SetVector<func::FuncOp> &functions) {
  if (!seen.insert(function).second)
    return;
  function.walk([&](func::CallOp call) {
    if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
      addCalleesFirst(callee, symbols, seen, functions);
  });
  functions.insert(function);
}

SmallVector<Block *> mlir::remat::getRegionBodies(ModuleOp module) {
  SymbolTable symbols(module);
  DenseSet<Operation *> seen;
  SetVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    addCalleesFirst(function, symbols, seen, functions);
  SmallVector<Block *> bodies;
  for (func::FuncOp function : functions)
    function.walk(
        [&](RegionOp region) { bodies.push_back(region.getBodyBlock()); });
  return bodies;
}
