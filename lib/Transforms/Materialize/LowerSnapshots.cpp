//===- LowerSnapshots.cpp - The binomial schedule as arithmetic -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As in lib/Plan/Snapshots.cpp, for numbers that are known when the program
// runs.
//===----------------------------------------------------------------------===//

#include "LowerSnapshots.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Arithmetic on indices.
class IndexBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value get(int64_t value) { return create<arith::ConstantIndexOp>(value); }
  Value add(Value lhs, Value rhs) { return create<arith::AddIOp>(lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return create<arith::SubIOp>(lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return create<arith::MulIOp>(lhs, rhs); }
  Value div(Value lhs, Value rhs) { return create<arith::DivSIOp>(lhs, rhs); }
  Value max(Value lhs, Value rhs) { return create<arith::MaxSIOp>(lhs, rhs); }
  Value isLess(Value lhs, Value rhs) {
    return create<arith::CmpIOp>(arith::CmpIPredicate::slt, lhs, rhs);
  }
  Value isNot(Value lhs, Value rhs) {
    return create<arith::CmpIOp>(arith::CmpIPredicate::ne, lhs, rhs);
  }
  Value select(Value condition, Value lhs, Value rhs) {
    return create<arith::SelectOp>(condition, lhs, rhs);
  }
};
} // namespace

/// Creates a loop that goes on with what `next` makes of `state`, as long as
/// `condition` holds of it. Returns the last state.
static SmallVector<Value>
createWhile(IndexBuilder &builder, ValueRange state,
            function_ref<Value(IndexBuilder &, ValueRange)> condition,
            function_ref<SmallVector<Value>(IndexBuilder &, ValueRange)> next) {
  auto loop = scf::WhileOp::create(
      builder, builder.getLoc(), TypeRange(state), state,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        IndexBuilder before(loc, nested);
        Value goesOn = condition(before, arguments);
        scf::ConditionOp::create(before, loc, goesOn, arguments);
      },
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        IndexBuilder after(loc, nested);
        SmallVector<Value> values = next(after, arguments);
        scf::YieldOp::create(after, loc, values);
      });
  return SmallVector<Value>(loop.getResults());
}

/// The iteration before which the next snapshot is taken.
static Value createNext(IndexBuilder &builder, Value from, Value end,
                        Value free) {
  Value zero = builder.get(0), one = builder.get(1);
  Value count = builder.sub(end, from);
  Value slots = builder.max(builder.add(free, one), one);
  // r, C(slots + r, slots), and that for the two repetitions before.
  SmallVector<Value> found = createWhile(
      builder, {zero, one, zero, zero},
      [&](IndexBuilder &nested, ValueRange state) {
        return nested.isLess(state[1], count);
      },
      [&](IndexBuilder &nested, ValueRange state) -> SmallVector<Value> {
        Value r = nested.add(state[0], nested.get(1));
        Value reach = nested.div(nested.mul(state[1], nested.add(slots, r)), r);
        return {r, reach, state[1], state[2]};
      });
  Value behind =
      builder.div(builder.mul(found[1], slots), builder.add(slots, found[0]));
  Value distance =
      builder.max(builder.max(one, found[3]), builder.sub(count, behind));
  Value next = builder.add(from, distance);
  // Without a free slot, only the last state has a place.
  next =
      builder.select(builder.isLess(zero, free), next, builder.sub(end, one));
  return builder.select(builder.isLess(one, count), next, end);
}

Value mlir::remat::lowerNextSnapshot(OpBuilder &builder, NextSnapshotOp op) {
  IndexBuilder index(op.getLoc(), builder);
  return createNext(index, op.getFrom(), op.getEnd(), op.getFree());
}

SmallVector<Value> mlir::remat::lowerLastSnapshot(OpBuilder &builder,
                                                  LastSnapshotOp op) {
  IndexBuilder index(op.getLoc(), builder);
  Value zero = index.get(0), one = index.get(1);
  Value iteration = op.getIteration();
  Value after = index.add(iteration, one);
  // Of the last iteration, the forward has left the state itself.
  Value isLast = index.create<arith::CmpIOp>(arith::CmpIPredicate::eq, after,
                                             op.getCount());
  SmallVector<Value> found = createWhile(
      index, {zero, zero, op.getCount()},
      [&](IndexBuilder &nested, ValueRange state) {
        return nested.select(isLast, nested.isNot(state[0], iteration),
                             nested.isNot(state[2], after));
      },
      [&](IndexBuilder &nested, ValueRange state) -> SmallVector<Value> {
        Value one = nested.get(1);
        Value slot = nested.add(state[1], one);
        Value next = createNext(nested, state[0], state[2],
                                nested.sub(op.getSlots(), slot));
        Value isBefore = nested.isLess(next, after);
        return {nested.select(isBefore, next, state[0]),
                nested.select(isBefore, slot, state[1]),
                nested.select(isBefore, state[2], next)};
      });
  return {found[0], found[1]};
}
