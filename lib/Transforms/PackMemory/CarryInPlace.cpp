//===- CarryInPlace.cpp - One buffer for each carried tensor --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization rejects loops that yield a tensor in another buffer
// than the one that they got, and cannot order the copies of those that yield
// each other's.
//===----------------------------------------------------------------------===//

#include "CarryInPlace.h"

#include "Buffers.h"
#include "InPlace.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

/// Arguments of `block` whose buffer may be that of `value`.
static llvm::BitVector getRoots(Value value, Block *block) {
  llvm::BitVector roots(block->getNumArguments());
  SetVector<Value> values;
  values.insert(value);
  for (unsigned next = 0; next < values.size(); ++next) {
    if (auto argument = dyn_cast<BlockArgument>(values[next])) {
      if (argument.getOwner() == block)
        roots.set(argument.getArgNumber());
      continue;
    }
    auto result = cast<OpResult>(values[next]);
    if (Value source = getBufferSource(result))
      values.insert(source);
    else if (isBranch(result.getOwner()))
      for (Region &region : result.getOwner()->getRegions())
        values.insert(region.front().getTerminator()->getOperand(
            result.getResultNumber()));
    else if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner())) {
      if (Value init = getInit(loop, result.getResultNumber()))
        values.insert(init);
      else
        values.insert_range(loop.getInits());
    }
  }
  return roots;
}

/// Gives each of `yielded` the buffer of the argument of its block with the
/// same position in `carried`. A value that is still to be read is overwritten
/// after that; in a circle (values that are swapped) one of them is copied.
static void carryInPlace(MutableArrayRef<OpOperand> yielded,
                         ArrayRef<BlockArgument> carried) {
  if (yielded.empty())
    return;
  Operation *end = yielded.front().getOwner();
  Block *block = end->getBlock();
  OpBuilder builder(end);
  // In whose buffers each pending operand may be, and how many in each.
  llvm::BitVector none(block->getNumArguments());
  SmallVector<llvm::BitVector> roots(yielded.size(), none);
  SmallVector<unsigned> numUsers(block->getNumArguments(), 0);
  auto setRoots = [&](unsigned index, const llvm::BitVector &to) {
    for (unsigned root : roots[index].set_bits())
      --numUsers[root];
    for (unsigned root : to.set_bits())
      ++numUsers[root];
    roots[index] = to;
  };
  SmallVector<unsigned> pending;
  for (auto [index, operand, argument] : llvm::enumerate(yielded, carried))
    if (isa<RankedTensorType>(argument.getType()) &&
        !isUpdateOf(operand.get(), argument, block)) {
      pending.push_back(index);
      setRoots(index, getRoots(operand.get(), block));
    }
  auto isReadByAnother = [&](unsigned index) {
    unsigned argument = carried[index].getArgNumber();
    return numUsers[argument] > roots[index].test(argument);
  };
  auto readsAnother = [&](unsigned index) {
    unsigned argument = carried[index].getArgNumber();
    return roots[index].count() > roots[index].test(argument);
  };
  while (!pending.empty()) {
    auto *next = pending.end();
    for (auto *it = pending.begin(); it != pending.end(); ++it)
      if (!isReadByAnother(*it) &&
          (next == pending.end() ||
           isOlder(yielded[*it].get(), yielded[*next].get(), end->getBlock())))
        next = it;
    if (next == pending.end()) {
      // The first pending value may depend on a cycle without being part of it.
      unsigned index = *llvm::find_if(pending, readsAnother);
      OpOperand &operand = yielded[index];
      operand.set(bufferization::AllocTensorOp::create(
          builder, operand.get().getLoc(),
          cast<RankedTensorType>(operand.get().getType()), ValueRange(),
          operand.get()));
      setRoots(index, none);
      continue;
    }
    Value value = yielded[*next].get();
    Value placed = bufferization::MaterializeInDestinationOp::create(
                       builder, value.getLoc(), value, carried[*next])
                       ->getResult(0);
    // Where a value is carried twice, the second buffer is a copy of the first
    // one: the value may be computed there.
    llvm::BitVector root = none;
    root.set(carried[*next].getArgNumber());
    for (unsigned index : pending)
      if (yielded[index].get() == value) {
        yielded[index].set(placed);
        setRoots(index, root);
      }
    setRoots(*next, none);
    pending.erase(next);
  }
}

void mlir::remat::carryInPlace(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  ::carryInPlace(yield->getOpOperands(),
                 llvm::to_vector(loop.getRegionIterArgs()));
}

/// Makes the before-region forward all of its arguments, followed by values
/// that it computes. Returns null if one of these is of dynamic size.
static scf::WhileOp passOnState(scf::WhileOp loop) {
  Block *before = loop.getBeforeBody(), *after = loop.getAfterBody();
  scf::ConditionOp condition = loop.getConditionOp();
  unsigned numStates = before->getNumArguments();
  // For each forwarded value, its position after the change.
  SmallVector<unsigned> positions;
  SmallVector<Value> computed;
  for (Value value : condition.getArgs()) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == before) {
      positions.push_back(argument.getArgNumber());
      continue;
    }
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && !type.hasStaticShape())
      return {};
    positions.push_back(numStates + computed.size());
    computed.push_back(value);
  }
  OpBuilder builder(loop);
  SmallVector<Value> inits(loop.getInits());
  for (Value value : computed)
    inits.push_back(createUndefined(builder, value.getLoc(), value.getType()));
  auto passing = scf::WhileOp::create(builder, loop.getLoc(),
                                      ValueRange(inits).getTypes(), inits);
  passing->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  passing.getBefore().takeBody(loop.getBefore());
  passing.getAfter().takeBody(loop.getAfter());
  for (Value value : computed)
    before->addArgument(value.getType(), value.getLoc());
  SmallVector<Value> passed(before->getArguments().take_front(numStates));
  llvm::append_range(passed, computed);
  condition.getArgsMutable().assign(passed);

  unsigned numOld = after->getNumArguments();
  for (Value init : inits)
    after->addArgument(init.getType(), init.getLoc());
  for (auto [old, position] : llvm::enumerate(positions)) {
    after->getArgument(old).replaceAllUsesWith(
        after->getArgument(numOld + position));
    loop.getResult(old).replaceAllUsesWith(passing.getResult(position));
  }
  after->eraseArguments(0, numOld);
  Operation *yield = after->getTerminator();
  yield->insertOperands(yield->getNumOperands(),
                        after->getArguments().drop_front(numStates));
  loop.erase();
  return passing;
}

void mlir::remat::carryInPlace(scf::WhileOp loop) {
  scf::WhileOp passing = passOnState(loop);
  if (!passing)
    return;
  scf::ConditionOp condition = passing.getConditionOp();
  ::carryInPlace(condition->getOpOperands().drop_front(),
                 llvm::to_vector(passing.getBeforeArguments()));
  ::carryInPlace(passing.getYieldOp()->getOpOperands(),
                 llvm::to_vector(passing.getAfterArguments()));
}

void mlir::remat::carryInBuffers(scf::ForOp loop,
                                 function_ref<bool(OpResult)> mayTake) {
  OpBuilder builder(loop);
  Operation *yield = loop.getBody()->getTerminator();
  auto createTensor = [&](Value buffer, Value old) {
    return bufferization::ToTensorOp::create(
        builder, old.getLoc(), old.getType(), buffer, /*restrict=*/true,
        /*writable=*/true);
  };
  llvm::BitVector taken(loop.getNumRegionIterArgs());
  for (auto [index, init, argument, result] : llvm::enumerate(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (!isa<RankedTensorType>(init.getType()) || !mayTake(result))
      continue;
    taken.set(index);
    builder.setInsertionPoint(loop);
    Value buffer =
        createBuffer(builder, init.getLoc(), init, /*readOnly=*/false);
    builder.setInsertionPointToStart(loop.getBody());
    argument.replaceAllUsesWith(createTensor(buffer, argument));
    // It is there already, unless something still read what was.
    Value next = yield->getOperand(index);
    builder.setInsertionPoint(yield);
    bufferization::MaterializeInDestinationOp::create(
        builder, next.getLoc(), /*result=*/Type(), next, buffer,
        /*restrict=*/true, /*writable=*/true);
    builder.setInsertionPointAfter(loop);
    result.replaceAllUsesWith(createTensor(buffer, result));
  }
  if (taken.none())
    return;
  SmallVector<Value> inits, yielded, results;
  for (unsigned index = 0; index < taken.size(); ++index)
    if (!taken.test(index)) {
      inits.push_back(loop.getInitArgs()[index]);
      yielded.push_back(yield->getOperand(index));
      results.push_back(loop.getResult(index));
    }
  builder.setInsertionPoint(loop);
  scf::ForOp rest = takeLoop(builder, loop, inits);
  rest.getBody()->eraseArguments([&](BlockArgument argument) {
    return argument != rest.getInductionVar() &&
           taken.test(argument.getArgNumber() - 1);
  });
  yield->setOperands(yielded);
  for (auto [old, now] : llvm::zip_equal(results, rest.getResults()))
    old.replaceAllUsesWith(now);
  loop.erase();
}
