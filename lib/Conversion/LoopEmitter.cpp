//===- LoopEmitter.cpp - Loops around a kernel's body ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which iterations run is part of what a result is; this is the
// one place that emits loops which run in order.
//===----------------------------------------------------------------------===//

#include "LoopEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

using Values = LoopEmitter::Values;

Value LoopEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Point LoopEmitter::getStart() {
  Point start{Values(nest.loops.size()), {}, {}, {}};
  for (const Access &access : nest.accesses)
    start.offsets.push_back(body.materialize(b, access.start));
  for (Value &iteration : start.iterations)
    iteration = index(0);
  return start;
}

Point LoopEmitter::advance(const Point &point, unsigned loop, Value iteration) {
  Point next = point;
  next.iterations[loop] = iteration;
  for (auto [offset, access] : llvm::zip_equal(next.offsets, nest.accesses)) {
    if (access.isScalar() || access.isInvariantIn(loop))
      continue;
    Value step = iteration;
    if (!access.isContiguousIn(loop))
      step = arith::MulIOp::create(b, loc, iteration,
                                   body.materialize(b, access.strides[loop]));
    offset = arith::AddIOp::create(b, loc, offset, step);
  }
  return next;
}

Values LoopEmitter::emitFor(
    Value from, Value to, int64_t step, ValueRange carried,
    function_ref<Values(Value iteration, ValueRange carried)> emitBody) {
  auto loop =
      scf::ForOp::create(b, loc, from, to, index(step), carried,
                         [&](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values results = emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value LoopEmitter::loadInitial(unsigned output, const Point &point) {
  if (!initialValues.empty() && initialValues[output])
    return arith::ConstantOp::create(b, loc, initialValues[output]);
  return body.load(b, outputAccess(output), point);
}

Values LoopEmitter::loadOutputs(const Point &point) {
  Values values;
  for (unsigned i = 0; i < numOutputs(); ++i) {
    bool isRead = !nest.op.getRegionOutputArgs()[i].use_empty();
    values.push_back(isRead ? body.load(b, outputAccess(i), point) : Value());
  }
  return values;
}

void LoopEmitter::storeOutputs(ValueRange values, const Point &point) {
  for (auto [i, value] : llvm::enumerate(values))
    body.store(b, outputAccess(i), value, point);
}

void LoopEmitter::emitPoint(const Point &point) {
  storeOutputs(body.compute(b, point, loadOutputs(point)), point);
}

void LoopEmitter::emitInOrder(ArrayRef<unsigned> loops, const Point &point) {
  if (loops.empty())
    return emitPoint(point);
  emitFor(index(0), sizeOf(loops.front()), 1, {},
          [&](Value iteration, ValueRange) {
            emitInOrder(loops.drop_front(),
                        advance(point, loops.front(), iteration));
            return Values();
          });
}

void LoopEmitter::emitResults(const Point &point) {
  if (!nest.hasReduction())
    return emitPoint(point);
  Values initial;
  for (unsigned i = 0; i < numOutputs(); ++i)
    initial.push_back(body.broadcast(b, loadInitial(i, point)));
  auto emitBody = [&](const Point &at, ValueRange carried) {
    Values next = body.compute(b, at, carried);
    for (Value &value : next)
      value = body.broadcast(b, value);
    return next;
  };
  storeOutputs(emitReductionLoops(0, std::nullopt, point, initial, emitBody),
               point);
}

Values LoopEmitter::emitReductionLoops(
    unsigned loop, std::optional<unsigned> skipped, const Point &point,
    ValueRange carried,
    function_ref<Values(const Point &, ValueRange)> emitBody) {
  while (loop < nest.loops.size() &&
         (nest.loops[loop].isParallel() || loop == skipped))
    ++loop;
  if (loop == nest.loops.size())
    return emitBody(point, carried);
  return emitFor(index(0), sizeOf(loop), 1, carried,
                 [&](Value iteration, ValueRange inner) {
                   return emitReductionLoops(loop + 1, skipped,
                                             advance(point, loop, iteration),
                                             inner, emitBody);
                 });
}

Value LoopEmitter::combine(Operation *combiner, Value a, Value other) {
  OperationState state(loc, combiner->getName(), {a, other}, {a.getType()},
                       combiner->getAttrs());
  state.propertiesAttr = combiner->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}
