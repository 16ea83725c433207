//===- ResidualPaths.cpp - How forward values reach the backward ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without it only regions in straight-line code could be rematerialized.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Plan/ResidualPaths.h"
#include "Tapes.h"

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Branches.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// From forward to backward
//===----------------------------------------------------------------------===//

ResidualPaths::ResidualPaths(ModuleOp module) {
  SymbolTable symbols(module);
  // The results of a public function must not change.
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPrivate() && !function.isExternal() &&
        function.getBody().hasOneBlock())
      calls[function];
  module.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (auto it = calls.find(callee); callee && it != calls.end())
      it->second.push_back(call);
  });
}

SmallVector<ResidualRead>
ResidualPaths::getReads(RegionOp region, SmallVectorImpl<Operation *> &opaque) {
  SmallVector<ResidualRead> reads;
  SmallVector<Operation *> left;
  opaque.assign(region->getNumResults(), nullptr);
  for (OpResult residual : region.getResiduals())
    follow(residual, residual.getResultNumber(), left, reads, opaque);
  followsResidual = false;
  for (OpResult output : region.getOutputs())
    follow(output, output.getResultNumber(), left, reads, opaque);
  followsResidual = true;
  // Several calls lead to the same backward in the called function.
  llvm::SmallDenseSet<std::pair<Operation *, unsigned>> seen;
  llvm::erase_if(reads, [&](const ResidualRead &read) {
    return !seen.insert({read.backward, read.operand}).second;
  });
  return reads;
}

/// `left` are the forward operations that result `result` of the region has
/// left and whose counterpart in the backward it has not entered yet.
void ResidualPaths::follow(Value value, unsigned result,
                           SmallVectorImpl<Operation *> &left,
                           SmallVectorImpl<ResidualRead> &reads,
                           SmallVectorImpl<Operation *> &opaque) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    auto backward = dyn_cast<BackwardOp>(user);
    if (backward && backward.isResidual(number)) {
      if (left.empty()) {
        reads.push_back({backward, number, result});
        continue;
      }
      if (isa<RegionOp>(left.back())) {
        Operation *entered = left.pop_back_val();
        follow(backward.getBodyBlock()->getArgument(number), result, left,
               reads, opaque);
        left.push_back(entered);
        continue;
      }
    } else if (isa<YieldOp>(user) && isa<RegionOp>(user->getParentOp())) {
      left.push_back(user->getParentOp());
      follow(left.back()->getResult(number), result, left, reads, opaque);
      left.pop_back();
      continue;
    } else if (isa<scf::YieldOp>(user) && isBranch(user->getParentOp())) {
      OpResult chosen = user->getParentOp()->getResult(number);
      if (getOnlyDefinedValue(chosen) == value) {
        follow(chosen, result, left, reads, opaque);
        continue;
      }
    } else if (auto plan = dyn_cast<PlanOp>(user)) {
      if (number < plan.getResiduals().size())
        follow(plan.getResult(number), result, left, reads, opaque);
      continue;
    } else if (auto write = dyn_cast<TapeWriteOp>(user)) {
      if (number == 0 && followTapeWrite(write, result, left, reads, opaque))
        continue;
    } else if (auto read = dyn_cast<TapeReadOp>(user)) {
      if (number == 0 && followTapeRead(read, result, left, reads, opaque))
        continue;
    } else if (auto end = dyn_cast<func::ReturnOp>(user)) {
      if (followReturn(end, number, result, left, reads, opaque))
        continue;
    } else if (auto call = dyn_cast<func::CallOp>(user)) {
      if (followCall(call, number, result, left, reads, opaque))
        continue;
    }
    if (!opaque[result])
      opaque[result] = user;
  }
}

bool ResidualPaths::followTapeWrite(TapeWriteOp write, unsigned result,
                                    SmallVectorImpl<Operation *> &left,
                                    SmallVectorImpl<ResidualRead> &reads,
                                    SmallVectorImpl<Operation *> &opaque) {
  unsigned index;
  scf::ForOp loop = getRecordingLoop(write, index);
  if (!loop)
    return false;
  left.push_back(write);
  follow(loop.getResult(index), result, left, reads, opaque);
  left.pop_back();
  return true;
}

bool ResidualPaths::followTapeRead(TapeReadOp read, unsigned result,
                                   SmallVectorImpl<Operation *> &left,
                                   SmallVectorImpl<ResidualRead> &reads,
                                   SmallVectorImpl<Operation *> &opaque) {
  auto write =
      left.empty() ? TapeWriteOp() : dyn_cast<TapeWriteOp>(left.back());
  if (!write || !link(write, read))
    return false;
  left.pop_back();
  follow(read.getValue(), result, left, reads, opaque);
  left.push_back(write);
  return true;
}

bool ResidualPaths::followReturn(func::ReturnOp end, unsigned number,
                                 unsigned result,
                                 SmallVectorImpl<Operation *> &left,
                                 SmallVectorImpl<ResidualRead> &reads,
                                 SmallVectorImpl<Operation *> &opaque) {
  auto it = calls.find(end->getParentOp());
  if (it == calls.end() || it->second.empty())
    return false;
  functions.insert(cast<func::FuncOp>(end->getParentOp()));
  for (func::CallOp call : it->second) {
    left.push_back(call);
    follow(call.getResult(number), result, left, reads, opaque);
    left.pop_back();
  }
  return true;
}

bool ResidualPaths::followCall(func::CallOp call, unsigned number,
                               unsigned result,
                               SmallVectorImpl<Operation *> &left,
                               SmallVectorImpl<ResidualRead> &reads,
                               SmallVectorImpl<Operation *> &opaque) {
  auto forward =
      left.empty() ? func::CallOp() : dyn_cast<func::CallOp>(left.back());
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!forward || !callee || !calls.contains(callee))
    return false;
  SmallVector<CallLink> &known = callLinks[callee];
  auto link = llvm::find_if(
      known, [&](const CallLink &link) { return link.backward == call; });
  if (link == known.end() && followsResidual)
    known.push_back({forward, call});
  else if (link == known.end() || link->forward != forward)
    return false;
  functions.insert(callee);
  left.pop_back();
  follow(callee.getArgument(number), result, left, reads, opaque);
  left.push_back(forward);
  return true;
}

/// Returns the arithmetic in the body of `loop` that `index` is the result of,
/// in order; none if it cannot move to the start of the body.
static std::optional<llvm::SetVector<Operation *>>
getArithmetic(Value index, scf::ForOp loop) {
  llvm::SetVector<Operation *> arithmetic;
  bool canMove = true;
  auto isComputed = [&](Value value) {
    return isDefinedIn(value, loop) && value != loop.getInductionVar();
  };
  walkSources(
      index,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (Operation *op = value.getDefiningOp(); op && isComputed(value))
          llvm::append_range(sources, op->getOperands());
      },
      [&](Value value) {
        if (!isComputed(value))
          return;
        Operation *op = value.getDefiningOp();
        canMove &= op && op->getBlock() == loop.getBody() &&
                   op->getNumRegions() == 0 && isPure(op) &&
                   !isa<ShapedType>(value.getType());
        arithmetic.insert(op);
      });
  return canMove ? std::optional(std::move(arithmetic)) : std::nullopt;
}

void ResidualPaths::hoistIndex(Value index, scf::ForOp loop) {
  auto arithmetic = getArithmetic(index, loop);
  assert(arithmetic && "was asked when the loops were linked");
  for (Operation *op : llvm::reverse(*arithmetic))
    op->moveBefore(loop.getBody(), loop.getBody()->begin());
}

bool ResidualPaths::link(TapeWriteOp write, TapeReadOp read) {
  auto backward = dyn_cast<scf::ForOp>(read->getParentOp());
  if (!backward ||
      (followsResidual ? !getArithmetic(read.getIndex(), backward)
                       : !links.contains({write->getBlock(), backward})))
    return false;
  auto [it, isFirst] =
      links.try_emplace({write->getBlock(), backward},
                        LoopLink{write.getIndex(), read.getIndex()});
  return isFirst || (isSameIndex(it->second.written, write.getIndex()) &&
                     isSameIndex(it->second.read, read.getIndex()));
}

//===----------------------------------------------------------------------===//
// From backward to forward
//===----------------------------------------------------------------------===//

/// Returns the write of the value that `read` reads, if both are of
/// corresponding iterations.
TapeWriteOp ResidualPaths::getLinkedWrite(TapeReadOp read) {
  TapeWriteOp write = getWriteOf(getOrigin(read.getTape()));
  if (!write)
    return {};
  auto it = links.find({write->getBlock(), read->getParentOp()});
  bool isLinked = it != links.end() &&
                  isSameIndex(it->second.written, write.getIndex()) &&
                  isSameIndex(it->second.read, read.getIndex());
  return isLinked ? write : TapeWriteOp();
}

/// Returns the value that every call of a backward function passes as argument
/// `number`, in terms of the forward function: an operand of its return or one
/// of its arguments. Null if it is neither, or not the same in all calls.
Value ResidualPaths::getOriginOfArgument(func::FuncOp backward,
                                         unsigned number) {
  auto it = callLinks.find(backward);
  if (it == callLinks.end() || it->second.size() != calls[backward].size())
    return {};
  Value origin;
  for (CallLink link : it->second) {
    auto forward = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        link.forward, link.forward.getCalleeAttr());
    Value passed = getOrigin(link.backward.getOperand(number)), here;
    if (passed.getDefiningOp() == link.forward)
      here = forward.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(passed).getResultNumber());
    for (auto [index, operand] : llvm::enumerate(link.forward.getOperands()))
      if (!here && getOrigin(operand) == passed)
        here = forward.getArgument(index);
    if (!here || (origin && origin != here))
      return {};
    origin = here;
  }
  return origin;
}

Value ResidualPaths::getOrigin(Value value) {
  while (true) {
    value = lookThroughNames(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto function = dyn_cast<func::FuncOp>(parent)) {
        Value passed = getOriginOfArgument(function, argument.getArgNumber());
        return passed ? getOrigin(passed) : value;
      }
      if (!isa<RegionOp, BackwardOp>(parent))
        return value;
      value = parent->getOperand(argument.getArgNumber());
      continue;
    }
    if (auto region = value.getDefiningOp<RegionOp>()) {
      value = region.getYield()->getOperand(
          cast<OpResult>(value).getResultNumber());
      continue;
    }
    if (auto plan = value.getDefiningOp<PlanOp>()) {
      value = plan.getResiduals()[cast<OpResult>(value).getResultNumber()];
      continue;
    }
    Operation *definition = value.getDefiningOp();
    if (definition && isBranch(definition)) {
      Value defined = getOnlyDefinedValue(cast<OpResult>(value));
      if (!defined)
        return value;
      value = defined;
      continue;
    }
    auto read = value.getDefiningOp<TapeReadOp>();
    TapeWriteOp write = read ? getLinkedWrite(read) : TapeWriteOp();
    if (!write)
      return value;
    value = write.getValue();
  }
}
