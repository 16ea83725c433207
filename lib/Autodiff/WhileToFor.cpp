//===- WhileToFor.cpp - Loops whose trip count must be found --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tape that grows would move all that it holds, again and again, and has no
// place in memory that is planned before the program runs. Counting costs what
// the condition depends on: a few integers for the loops that front ends write.
//===----------------------------------------------------------------------===//

#include "WhileToFor.h"

#include "Dependences.h"
#include "remat/Analysis/Effects.h"
#include "remat/Analysis/Sources.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

/// A loop that runs as often as `loop` and returns how often that is.
static FailureOr<Value> createCount(OpBuilder &builder, scf::WhileOp loop) {
  Location loc = loop.getLoc();
  scf::ConditionOp condition = loop.getConditionOp();
  scf::YieldOp yield = loop.getYieldOp();
  Dependences before(*loop.getBeforeBody()), after(*loop.getAfterBody());
  before.add(condition.getCondition());
  for (BitVector seen(before.arguments.size()); seen != before.arguments;) {
    seen = before.arguments;
    for (unsigned index : seen.set_bits())
      after.add(yield.getOperand(index));
    for (unsigned index : after.arguments.set_bits())
      before.add(condition.getArgs()[index]);
  }
  Effects effects;
  for (Dependences *part : {&before, &after})
    for (Operation &op : part->block)
      if (Operation *culprit = nullptr;
          part->ops.contains(&op) && !effects.isReplayable(&op, culprit)) {
        InFlightDiagnostic diagnostic =
            culprit->emitOpError()
            << "has side effects, and the trip count of an scf.while that is "
               "differentiated depends on it: the iterations are counted "
               "before the loop runs. Move it out of the loop, or write the "
               "loop as an scf.for";
        diagnostic.attachNote(loc) << "the loop is here";
        return failure();
      }

  SmallVector<Value> inits;
  SmallVector<Type> passed;
  for (unsigned index : before.arguments.set_bits())
    inits.push_back(loop.getInits()[index]);
  for (unsigned index : after.arguments.set_bits())
    passed.push_back(condition.getArgs()[index].getType());
  inits.push_back(arith::ConstantIndexOp::create(builder, loc, 0));
  passed.push_back(builder.getIndexType());

  auto count = scf::WhileOp::create(
      builder, loc, passed, inits,
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        IRMapping mapping = before.clone(nested, arguments);
        SmallVector<Value> values;
        for (unsigned index : after.arguments.set_bits())
          values.push_back(mapping.lookupOrDefault(condition.getArgs()[index]));
        values.push_back(arguments.back());
        scf::ConditionOp::create(
            nested, loc, mapping.lookupOrDefault(condition.getCondition()),
            values);
      },
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        IRMapping mapping = after.clone(nested, arguments);
        SmallVector<Value> values;
        for (unsigned index : before.arguments.set_bits())
          values.push_back(mapping.lookupOrDefault(yield.getOperand(index)));
        Value one = arith::ConstantIndexOp::create(nested, loc, 1);
        values.push_back(
            arith::AddIOp::create(nested, loc, arguments.back(), one));
        scf::YieldOp::create(nested, loc, values);
      });
  effects.eraseEffects(count);
  return count.getResults().back();
}

/// Clones the before-region of `loop` for the state `arguments` and returns the
/// values that it forwards to the after-region; keeps operations with effects.
static SmallVector<Value> cloneBefore(OpBuilder &builder, scf::WhileOp loop,
                                      ValueRange arguments) {
  Block *before = loop.getBeforeBody();
  Dependences passed(*before);
  for (Value value : loop.getConditionOp().getArgs())
    passed.add(value);
  for (Operation &op : before->without_terminator())
    if (!isMemoryEffectFree(&op) && passed.ops.insert(&op).second)
      for (Value input : getInputs(&op))
        passed.add(input);
  passed.arguments.set();
  IRMapping mapping = passed.clone(builder, arguments);
  return llvm::map_to_vector(loop.getConditionOp().getArgs(), [&](Value value) {
    return mapping.lookupOrDefault(value);
  });
}

static LogicalResult convert(scf::WhileOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  FailureOr<Value> count = createCount(builder, loop);
  if (failed(count))
    return failure();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto counted = scf::ForOp::create(
      builder, loc, zero, *count, one, loop.getInits(),
      [&](OpBuilder &nested, Location, Value, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(loop.getAfterArguments(),
                    cloneBefore(nested, loop, arguments));
        for (Operation &op : *loop.getAfterBody())
          nested.clone(op, mapping);
      });
  counted->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop.replaceAllUsesWith(cloneBefore(builder, loop, counted.getResults()));
  loop.erase();
  return success();
}

FailureOr<Activity> mlir::remat::analyzeActivity(Block &body,
                                                 ArrayRef<Value> wanted,
                                                 ArrayRef<unsigned> seeded,
                                                 CallSummaries &summaries) {
  while (true) {
    Activity activity(summaries);
    for (Value value : wanted)
      activity.markVaried(value);
    if (failed(activity.propagateForward(body)))
      return failure();
    for (unsigned index : seeded)
      activity.markUseful(body.getTerminator()->getOperand(index));
    activity.propagateBackward(body);

    // Inside a loop that is converted nothing is known yet: outer ones first.
    SmallVector<scf::WhileOp> loops;
    body.walk<WalkOrder::PreOrder>([&](scf::WhileOp loop) {
      if (llvm::any_of(loop.getResults(),
                       [&](Value value) { return activity.isActive(value); }))
        loops.push_back(loop);
      return WalkResult::skip();
    });
    if (loops.empty())
      return activity;
    for (scf::WhileOp loop : loops)
      if (failed(convert(loop)))
        return failure();
  }
}
