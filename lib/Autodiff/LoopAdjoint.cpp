//===- LoopAdjoint.cpp - Backward of an scf.for ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where tapes come into being: the backward of a loop is a loop
// that runs through the iterations from the last to the first.
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Captures.h"
#include "LoopSnapshots.h"
#include "Loops.h"

#include "remat/Dialect/Remat/IR/Branches.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Iteration numbers
//===----------------------------------------------------------------------===//

std::optional<int64_t> mlir::remat::getConstant(Value value) {
  return getConstantIntValue(lookThroughBorders(value));
}

static Value toIndex(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

/// Where the trip count of `loop` can be computed once for all loops around it.
static Operation *getOutermostLoopThatSeesBounds(scf::ForOp loop) {
  Operation *place = loop;
  while (auto parent = dyn_cast<scf::ForOp>(place->getParentOp())) {
    auto isInside = [&](Value bound) {
      return !getConstant(bound) &&
             parent.getRegion().isAncestor(bound.getParentRegion());
    };
    if (isInside(loop.getLowerBound()) || isInside(loop.getUpperBound()) ||
        isInside(loop.getStep()))
      break;
    place = parent;
  }
  return place;
}

/// max(0, ceil((upper - lower) / step)), an index.
static Value createTripCount(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  std::optional<int64_t> lower = getConstant(loop.getLowerBound());
  std::optional<int64_t> upper = getConstant(loop.getUpperBound());
  std::optional<int64_t> step = getConstant(loop.getStep());
  if (lower && upper && step && *step > 0 && !loop.getUnsignedCmp())
    return arith::ConstantIndexOp::create(
        builder, loc,
        *upper > *lower ? llvm::divideCeil(uint64_t(*upper) - uint64_t(*lower),
                                           uint64_t(*step))
                        : 0);
  // A constant may stand further inside than the trip count.
  auto hereOr = [&](std::optional<int64_t> constant, Value bound) -> Value {
    if (!constant)
      return bound;
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(bound.getType(), *constant));
  };
  Value first = hereOr(lower, loop.getLowerBound());
  Value end = hereOr(upper, loop.getUpperBound());
  Value isEmpty =
      arith::CmpIOp::create(builder, loc,
                            loop.getUnsignedCmp() ? arith::CmpIPredicate::ule
                                                  : arith::CmpIPredicate::sle,
                            end, first);
  Value span = arith::SubIOp::create(builder, loc, end, first);
  Value count = arith::CeilDivUIOp::create(builder, loc, span,
                                           hereOr(step, loop.getStep()));
  return arith::SelectOp::create(builder, loc, isEmpty, zero,
                                 toIndex(builder, loc, count));
}

Value mlir::remat::createIterationNumber(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value number = loop.getInductionVar();
  if (getConstant(loop.getLowerBound()) != 0)
    number = arith::SubIOp::create(builder, loc, number, loop.getLowerBound());
  if (getConstant(loop.getStep()) != 1)
    number = arith::DivUIOp::create(builder, loc, number, loop.getStep());
  return toIndex(builder, loc, number);
}

Value mlir::remat::createInductionValue(OpBuilder &builder, scf::ForOp loop,
                                        Value number) {
  Location loc = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  if (!type.isIndex())
    number = arith::IndexCastOp::create(builder, loc, type, number);
  if (getConstant(loop.getStep()) != 1)
    number = arith::MulIOp::create(builder, loc, number, loop.getStep());
  if (getConstant(loop.getLowerBound()) != 0)
    number = arith::AddIOp::create(builder, loc, number, loop.getLowerBound());
  return number;
}

//===----------------------------------------------------------------------===//
// Tapes
//===----------------------------------------------------------------------===//

void mlir::remat::explainNoTape(Value value) {
  Type type = value.getType();
  InFlightDiagnostic diagnostic =
      emitError(value.getLoc())
      << "the backward of this loop needs a value of type " << type
      << " from each iteration, but ";
  if (isa<RankedTensorType>(type))
    diagnostic << "its size is not known before the loop; give it a static "
                  "size, or one that does not change in the loop";
  else
    diagnostic << "there are no tapes of those";
}

Value mlir::remat::createTape(scf::ForOp loop, Value value,
                              OpFoldResult count) {
  OpBuilder builder(loop);
  Type element = value.getType();
  SmallVector<OpFoldResult> sizes;
  if (auto type = dyn_cast<RankedTensorType>(element)) {
    element = type.getElementType();
    sizes = getSizesBefore(builder, loop, value);
  }
  if (llvm::is_contained(sizes, OpFoldResult()) ||
      !TensorType::isValidElementType(element))
    return nullptr;
  sizes.insert(sizes.begin(), count);
  return tensor::EmptyOp::create(builder, value.getLoc(), sizes, element);
}

namespace {
/// Turns what the backward of a loop reads of the loop's body into reads of
/// tapes.
class LoopImporter : public CaptureImporter {
public:
  LoopImporter(scf::ForOp loop, Region &backward, Value tripCount,
               Value iteration)
      : CaptureImporter(backward), loop(loop), tripCount(tripCount),
        iteration(iteration) {}

  /// Gives the loop its tapes and connects the reads to them.
  void finish();

private:
  bool isForeign(Value value) override {
    return loop.getRegion().isAncestor(value.getParentRegion());
  }
  bool isAvailable(Value value) override {
    return value == loop.getInductionVar();
  }
  Value makeAvailable(Value value) override {
    OpBuilder early(iteration.getContext());
    early.setInsertionPointAfterValue(iteration);
    return createInductionValue(early, loop, iteration);
  }
  Value save(Value value, OpBuilder &builder) override;
  std::optional<int64_t> countSaves() override {
    return getConstant(tripCount);
  }
  void explain(Value value) override { explainNoTape(value); }

  scf::ForOp loop;
  Value tripCount, iteration;
  SmallVector<Value> saved, tapes;
  SmallVector<TapeReadOp> reads;
};
} // namespace

Value LoopImporter::save(Value value, OpBuilder &builder) {
  std::optional<int64_t> count = getConstant(tripCount);
  Value tape = createTape(loop, value,
                          count ? OpFoldResult(builder.getIndexAttr(*count))
                                : tripCount);
  if (!tape)
    return nullptr;
  saved.push_back(value);
  tapes.push_back(tape);
  // Reads the empty tape until the loop that fills it exists.
  auto read = TapeReadOp::create(builder, value.getLoc(), value.getType(), tape,
                                 iteration);
  markBackward(read);
  reads.push_back(read);
  return read;
}

void LoopImporter::finish() {
  if (saved.empty())
    return;
  OpBuilder builder(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  inits.append(tapes);
  scf::ForOp recording = takeLoop(builder, loop, inits);
  unsigned numResults = loop.getNumResults();
  loop->replaceAllUsesWith(recording.getResults().take_front(numResults));
  loop->erase();
  loop = recording;

  Block *body = loop.getBody();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  builder.setInsertionPointToStart(body);
  Value number = createIterationNumber(builder, loop);
  SmallVector<Value> written;
  for (auto [value, tape] : llvm::zip_equal(saved, tapes)) {
    Value carried = body->addArgument(tape.getType(), tape.getLoc());
    if (isa<BlockArgument>(value))
      number.getDefiningOp() ? builder.setInsertionPointAfterValue(number)
                             : builder.setInsertionPointToStart(body);
    else
      builder.setInsertionPointAfterValue(value);
    written.push_back(TapeWriteOp::create(
        builder, value.getLoc(), tape.getType(), value, carried, number));
  }
  yield.getResultsMutable().append(written);
  for (auto [index, read] : llvm::enumerate(reads))
    read.getTapeMutable().set(loop.getResult(numResults + index));
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

LogicalResult Adjoint::reverseLoop(scf::ForOp loop, AdjointScope &outer) {
  Location loc = loop.getLoc();
  OpBuilder &builder = outer.builder;

  // Sums that the backward loop carries: cotangents of the active carried
  // values, then of the active values that the body reads from outside.
  SmallVector<unsigned> carried;
  SmallVector<Value> carriedInits, inits;
  for (auto [index, init, argument, result] : llvm::enumerate(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (!activity.isVaried(argument) ||
        !(activity.isUseful(argument) || activity.isUseful(result)))
      continue;
    if (!hasCotangentType(argument.getType()))
      return loop->emitOpError()
             << "carries a value of type " << argument.getType()
             << ", which has no derivative";
    carried.push_back(index);
    carriedInits.push_back(init);
    Value cotangent = outer.getCotangent(result);
    inits.push_back(cotangent ? cotangent
                              : createZerosLike(builder, loc, result));
  }
  FailureOr<SmallVector<Value>> captures =
      collectActiveCaptures(loop, activity, outer.keys);
  if (failed(captures))
    return failure();
  ArrayRef<Value> invariants = *captures;
  for (Value invariant : invariants) {
    Value cotangent = outer.getCotangent(invariant);
    inits.push_back(cotangent ? cotangent
                              : createZerosLike(builder, loc, invariant));
  }

  OpBuilder before(getOutermostLoopThatSeesBounds(loop));
  Value tripCount = createTripCount(before, loop);
  std::optional<LoopSnapshots> snapshots;
  if (PolicyAttrInterface policy = getSnapshotPolicy(loop))
    snapshots.emplace(loop, policy);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto last = arith::SubIOp::create(builder, loc, tripCount, one);
  auto backward =
      scf::ForOp::create(builder, loc, zero, tripCount, one, inits,
                         [](OpBuilder &, Location, Value, ValueRange) {});
  Block *body = backward.getBody();
  AdjointScope inner(*body, outer.keys);
  ValueRange sums = backward.getRegionIterArgs();
  for (auto [invariant, sum] :
       llvm::zip_equal(invariants, sums.drop_front(carried.size())))
    inner.setCotangent(invariant, sum);
  for (auto [index, cotangent] :
       llvm::zip_equal(carried, sums.take_front(carried.size()))) {
    Value yielded = loop.getYieldedValues()[index];
    if (activity.isActive(yielded) &&
        failed(accumulate(inner, loc, yielded, cotangent)))
      return failure();
  }
  SmallVector<Value> arguments =
      llvm::map_to_vector(carried, [&](unsigned index) -> Value {
        return loop.getRegionIterArg(index);
      });
  if (failed(reverseBlock(*loop.getBody(), inner)))
    return failure();

  SmallVector<Value> next;
  for (Value argument : arguments) {
    Value cotangent = inner.getCotangent(argument);
    next.push_back(cotangent ? cotangent
                             : createZerosLike(inner.builder, loc, argument));
  }
  for (Value invariant : invariants)
    next.push_back(inner.getCotangent(invariant));
  scf::YieldOp::create(inner.builder, loc, next);
  eraseDead(*body);

  inner.builder.setInsertionPointToStart(body);
  auto iteration = arith::SubIOp::create(inner.builder, loc, last,
                                         backward.getInductionVar());
  if (snapshots) {
    if (failed(snapshots->finish(loop, backward, tripCount, iteration)))
      return failure();
  } else {
    LoopImporter importer(loop, backward.getRegion(), tripCount, iteration);
    if (failed(importer.run()))
      return failure();
    importer.finish();
  }
  if (iteration->use_empty()) {
    iteration->erase();
    last->erase();
  }

  // An invariant's sum started from what there was; a carried value's did not.
  ValueRange results = backward.getResults().take_front(inits.size());
  for (auto [invariant, result] :
       llvm::zip_equal(invariants, results.drop_front(carried.size())))
    outer.setCotangent(invariant, result);
  for (auto [init, result] :
       llvm::zip_equal(carriedInits, results.take_front(carried.size())))
    if (activity.isActive(init) && failed(accumulate(outer, loc, init, result)))
      return failure();
  return success();
}
