//===- LoopSnapshots.cpp - Backward of a loop from few states -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward loop takes the snapshots on its way. The backward loop runs from
// the last snapshot to its iteration, on which it takes others for iterations
// before that one, in the slots that have become free.
//===----------------------------------------------------------------------===//

#include "LoopSnapshots.h"

#include "Adjoint.h"
#include "Captures.h"
#include "Loops.h"
#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

PolicyAttrInterface mlir::remat::getSnapshotPolicy(scf::ForOp loop) {
  for (Operation *op = loop->getParentOp(); op && !isa<LoopLikeOpInterface>(op);
       op = op->getParentOp())
    if (auto region = dyn_cast<RegionOp>(op)) {
      PolicyAttrInterface policy = region.getPolicyOrDefault();
      return policy.countSnapshots(-1) ? policy : PolicyAttrInterface();
    }
  return {};
}

LoopSnapshots::LoopSnapshots(scf::ForOp loop, PolicyAttrInterface policy)
    : policy(policy),
      forward(cast<scf::ForOp>(OpBuilder(loop).clone(*loop.getOperation()))),
      loc(loop.getLoc()), next(*forward.getBody()),
      isState(loop.getNumRegionIterArgs()) {}

/// Fails with a diagnostic, which gives the `reason`, if `op` has effects that
/// the backward can neither have a second time nor leave out.
LogicalResult LoopSnapshots::checkReplayable(Operation *op, StringRef reason) {
  Operation *culprit = nullptr;
  if (effects.isReplayable(op, culprit))
    return success();
  InFlightDiagnostic diagnostic =
      culprit->emitError() << "operation with side effects would run again in "
                              "the backward of its loop"
                           << reason
                           << "; move it out of the loop, or out of the "
                              "remat.region with this policy: ";
  diagnostic << policy;
  diagnostic.attachNote(loc) << "loop is here";
  return diagnostic;
}

/// Moves what the backward reads of the body to its start.
LogicalResult LoopSnapshots::moveBody(scf::ForOp loop, scf::ForOp backward,
                                      Value iteration) {
  Operation *place = iteration.getDefiningOp()->getNextNode();
  SmallVector<Operation *> moved;
  cast<scf::YieldOp>(loop.getBody()->getTerminator())
      .getResultsMutable()
      .clear();
  for (Operation &op :
       llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    op.moveBefore(place);
    moved.push_back(&op);
  }
  // The forward has the effects; what only leads to the next state is dropped.
  for (Operation *op : llvm::reverse(moved)) {
    if (op->use_empty()) {
      op->erase();
      continue;
    }
    if (failed(checkReplayable(op, "")))
      return failure();
    effects.eraseEffects(op);
    setPhases(op, kRecomputePhase);
  }
  OpBuilder builder(backward.getContext());
  builder.setInsertionPointAfterValue(iteration);
  if (!loop.getInductionVar().use_empty())
    loop.getInductionVar().replaceAllUsesWith(
        createInductionValue(builder, loop, iteration));
  return success();
}

/// Finds what must be known of a state to have the next one, from what an
/// iteration reads.
LogicalResult LoopSnapshots::findState(scf::ForOp loop) {
  for (auto [index, value] : llvm::enumerate(loop.getRegionIterArgs()))
    isState[index] = !value.use_empty();
  unsigned numVars = forward.getNumInductionVars();
  for (BitVector seen(isState.size()); seen != isState;) {
    seen = isState;
    for (unsigned index : seen.set_bits())
      next.add(forward.getYieldedValues()[index]);
    for (unsigned number : next.arguments.set_bits())
      if (number >= numVars)
        isState.set(number - numVars);
  }
  for (Operation &op : *forward.getBody())
    if (next.ops.contains(&op) &&
        failed(checkReplayable(
            &op, ", since the state of the next iteration depends on it")))
      return failure();
  return success();
}

SmallVector<Value> LoopSnapshots::getState(ValueRange carried) const {
  return llvm::map_to_vector(isState.set_bits(), [&](unsigned index) -> Value {
    return carried[index];
  });
}

LogicalResult LoopSnapshots::countSnapshots(Value tripCount) {
  int64_t bytes = 0;
  for (Value value : getState(forward.getRegionIterArgs())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bytes = type && !type.hasStaticShape() ? -1
            : bytes == -1 ? -1
                          : bytes + estimateBytes(value.getType());
  }
  std::optional<int64_t> count = policy.countSnapshots(bytes);
  if (!count || *count < 1) {
    InFlightDiagnostic diagnostic = forward.emitError()
                                    << "no snapshot of this loop fits, by ";
    diagnostic << policy;
    if (bytes >= 0)
      diagnostic << ": a state has " << bytes
                 << " bytes, and one is kept besides the snapshots";
    else
      diagnostic << ": a state has no static size; give a number of snapshots";
    return diagnostic;
  }
  std::optional<int64_t> trips = getConstant(tripCount);
  numSnapshots =
      trips ? std::min(*count, std::max<int64_t>(*trips, 1)) : *count;
  keepsAll = trips && numSnapshots == std::max<int64_t>(*trips, 1);
  return success();
}

/// How many snapshots fit after that in `slot`.
Value LoopSnapshots::getFree(OpBuilder &builder, Value slot) {
  Value last = arith::ConstantIndexOp::create(builder, loc, numSnapshots - 1);
  return arith::SubIOp::create(builder, loc, last, slot);
}

/// Takes a snapshot of `state`, before iteration `number`, where one is due, on
/// the way to the end of the iterations before `end`.
LoopSnapshots::Taking LoopSnapshots::take(OpBuilder &builder, Value number,
                                          ValueRange state, Value end,
                                          const Taking &before) {
  Value isDue = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      number, before.next);
  auto branch = scf::IfOp::create(
      builder, loc, isDue,
      [&](OpBuilder &nested, Location) {
        SmallVector<Value> results;
        for (auto [value, slots] : llvm::zip_equal(state, before.slots))
          results.push_back(TapeWriteOp::create(nested, loc, slots.getType(),
                                                value, slots, before.slot));
        results.push_back(NextSnapshotOp::create(nested, loc, number, end,
                                                 getFree(nested, before.slot)));
        Value one = arith::ConstantIndexOp::create(nested, loc, 1);
        results.push_back(arith::AddIOp::create(nested, loc, before.slot, one));
        scf::YieldOp::create(nested, loc, results);
      },
      [&](OpBuilder &nested, Location) {
        SmallVector<Value> results(before.slots);
        results.append({before.next, before.slot});
        scf::YieldOp::create(nested, loc, results);
      });
  size_t count = before.slots.size();
  return {llvm::to_vector_of<Value>(branch.getResults().take_front(count)),
          branch.getResult(count), branch.getResult(count + 1)};
}

/// Has the forward loop take snapshots.
LogicalResult LoopSnapshots::growForward(Value tripCount) {
  OpBuilder builder(forward);
  int64_t places = keepsAll ? numSnapshots : numSnapshots + 1;
  SmallVector<Value> inits(forward.getInitArgs());
  for (Value value : getState(forward.getRegionIterArgs())) {
    slots.push_back(createTape(forward, value, builder.getIndexAttr(places)));
    if (!slots.back()) {
      explainNoTape(value);
      return failure();
    }
  }
  inits.append(slots);
  if (!keepsAll) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    inits.append(2, zero);
  }
  unsigned numOld = forward.getNumRegionIterArgs();
  scf::ForOp grown = takeLoop(builder, forward, inits);
  forward.erase();
  forward = grown;
  Block *body = forward.getBody();
  for (Value init : ArrayRef(inits).drop_front(numOld))
    body->addArgument(init.getType(), init.getLoc());
  builder.setInsertionPointToStart(body);
  Value number = createIterationNumber(builder, forward);
  ValueRange carried = forward.getRegionIterArgs();
  SmallVector<Value> state = getState(carried);
  ValueRange tapes = carried.drop_front(numOld).take_front(slots.size());
  SmallVector<Value> yielded;
  if (keepsAll) {
    for (auto [value, slot] : llvm::zip_equal(state, tapes))
      yielded.push_back(TapeWriteOp::create(builder, loc, slot.getType(), value,
                                            slot, number));
  } else {
    Taking taken = take(
        builder, number, state, tripCount,
        {llvm::to_vector(tapes), carried.drop_back().back(), carried.back()});
    yielded = taken.slots;
    yielded.append({taken.next, taken.slot});
  }
  cast<scf::YieldOp>(body->getTerminator()).getResultsMutable().append(yielded);
  ValueRange results = forward.getResults();
  slots = llvm::to_vector(results.slice(numOld, slots.size()));
  return success();
}

/// Reads the state in the slots, or the tapes, `places`.
SmallVector<Value> LoopSnapshots::read(OpBuilder &builder, ValueRange places,
                                       Value index) {
  SmallVector<Value> state;
  for (auto [like, place] :
       llvm::zip_equal(getState(forward.getRegionIterArgs()), places))
    state.push_back(
        TapeReadOp::create(builder, loc, like.getType(), place, index));
  return state;
}

/// Runs the loop from the last snapshot to `iteration`, in the backward.
/// Returns the state; `slots` become those with further snapshots.
SmallVector<Value> LoopSnapshots::advance(OpBuilder &builder, Value iteration,
                                          Value tripCount,
                                          SmallVector<Value> &slots) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = arith::ConstantIndexOp::create(builder, loc, numSnapshots);
  auto last = LastSnapshotOp::create(builder, loc, iteration, tripCount, count);
  Value end = arith::AddIOp::create(builder, loc, iteration, one);
  Value next = NextSnapshotOp::create(builder, loc, last.getFrom(), end,
                                      getFree(builder, last.getSlot()));
  Value slot = arith::AddIOp::create(builder, loc, last.getSlot(), one);
  SmallVector<Value> inits = read(builder, slots, last.getSlot());
  size_t numStates = inits.size();
  inits.append(slots);
  inits.append({next, slot});
  auto loop = scf::ForOp::create(
      builder, loc, last.getFrom(), iteration, one, inits,
      [&](OpBuilder &nested, Location, Value number, ValueRange carried) {
        ValueRange state = carried.take_front(numStates);
        ValueRange places = carried.drop_front(numStates).drop_back(2);
        Taking taken = take(nested, number, state, end,
                            {llvm::to_vector(places),
                             carried.drop_back().back(), carried.back()});
        SmallVector<Value> yielded = runIteration(nested, number, state);
        yielded.append(taken.slots);
        yielded.append({taken.next, taken.slot});
        scf::YieldOp::create(nested, loc, yielded);
      });
  // Not before: what a call does is found by the module that it is in.
  effects.eraseEffects(loop);
  setPhases(loop, kRecomputePhase);
  ValueRange results = loop.getResults();
  slots = llvm::to_vector(results.slice(numStates, slots.size()));
  return llvm::to_vector(results.take_front(numStates));
}

/// Recomputes the state after iteration `number` from that before it.
SmallVector<Value> LoopSnapshots::runIteration(OpBuilder &builder, Value number,
                                               ValueRange state) {
  SmallVector<Value> carried(isState.size());
  for (auto [index, value] : llvm::zip_equal(isState.set_bits(), state))
    carried[index] = value;
  SmallVector<Value> arguments;
  for (unsigned argument : next.arguments.set_bits())
    arguments.push_back(
        argument == 0 ? createInductionValue(builder, forward, number)
                      : carried[argument - forward.getNumInductionVars()]);
  IRMapping mapping = next.clone(builder, arguments);
  return llvm::map_to_vector(
      getState(forward.getYieldedValues()),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// Has the backward loop carry the slots, and find the state before
/// `iteration`, which it returns.
SmallVector<Value> LoopSnapshots::growBackward(scf::ForOp &backward,
                                               Value iteration,
                                               Value tripCount) {
  OpBuilder builder(backward);
  if (keepsAll) {
    builder.setInsertionPointAfterValue(iteration);
    return read(builder, slots, iteration);
  }
  SmallVector<Value> inits(backward.getInitArgs());
  inits.append(slots);
  scf::ForOp grown = takeLoop(builder, backward, inits);
  backward->replaceAllUsesWith(
      grown.getResults().take_front(backward.getNumResults()));
  backward.erase();
  backward = grown;
  Block *body = grown.getBody();
  SmallVector<Value> places = llvm::map_to_vector(slots, [&](Value slot) {
    return Value(body->addArgument(slot.getType(), slot.getLoc()));
  });
  builder.setInsertionPointAfterValue(iteration);
  SmallVector<Value> state = advance(builder, iteration, tripCount, places);
  cast<scf::YieldOp>(body->getTerminator()).getResultsMutable().append(places);
  return state;
}

/// Has the backward read values from outside of it through a barrier, so that
/// no part of an iteration is computed once for forward and backward, and kept.
void LoopSnapshots::guardInputs(scf::ForOp backward, Operation *first,
                                Operation *end) {
  llvm::MapVector<Value, SmallVector<OpOperand *>> inputs;
  for (Operation *op = first; op != end; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Value value = operand.get();
        Operation *source = value.getDefiningOp();
        if (isa<RankedTensorType>(value.getType()) &&
            !isDefinedIn(value, backward) &&
            !llvm::is_contained(slots, value) &&
            !(source && isSmallerBefore(source)))
          inputs[value].push_back(&operand);
      }
    });
  if (inputs.empty())
    return;
  OpBuilder builder(first);
  SmallVector<Value> values =
      llvm::map_to_vector(inputs, [](auto &input) { return input.first; });
  // Slots are no cotangents.
  ValueRange cotangents = backward.getRegionIterArgs();
  if (!keepsAll)
    cotangents = cotangents.drop_back(slots.size());
  IRMapping mapping;
  setPhase(createGuard(builder, loc, values, cotangents, mapping),
           kRecomputePhase);
  for (auto &[value, uses] : inputs)
    for (OpOperand *use : uses)
      use->set(mapping.lookup(value));
}

LogicalResult LoopSnapshots::finish(scf::ForOp &loop, scf::ForOp &backward,
                                    Value tripCount, Value iteration) {
  Operation *adjoint = iteration.getDefiningOp()->getNextNode();
  if (failed(moveBody(loop, backward, iteration)) || failed(findState(loop)))
    return failure();
  bool hasState = isState.any();
  if (hasState &&
      (failed(countSnapshots(tripCount)) || failed(growForward(tripCount))))
    return failure();
  if (hasState) {
    SmallVector<Value> state = growBackward(backward, iteration, tripCount);
    for (auto [value, local] :
         llvm::zip_equal(getState(loop.getRegionIterArgs()), state))
      value.replaceAllUsesWith(local);
  }
  guardInputs(backward, iteration.getDefiningOp()->getNextNode(), adjoint);
  loop->replaceAllUsesWith(
      forward.getResults().take_front(loop.getNumResults()));
  loop.erase();
  loop = forward;
  return success();
}
