//===- ReductionRules.cpp - Reductions that are no sums -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The textbook adjoint, one kernel for each operand, is wrong where the body is
// nonlinear in its accumulator. Maximum and minimum find their terms again by
// comparison with the result; every other body is replayed, its accumulators
// recorded, and run backwards.
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"
#include "remat/Analysis/Activity.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

/// If `yield` is the larger (or smaller) of `accumulator` and another value of
/// the body, that value.
static Value matchExtremum(Value yield, Value accumulator) {
  Operation *op = yield.getDefiningOp();
  if (!op)
    return {};
  Value a, b;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
          arith::MinNumFOp>(op)) {
    a = op->getOperand(0);
    b = op->getOperand(1);
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto cmp = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!cmp)
      return {};
    a = select.getTrueValue();
    b = select.getFalseValue();
    using P = arith::CmpFPredicate;
    bool ordering = llvm::is_contained(
        {P::OGT, P::OGE, P::OLT, P::OLE, P::UGT, P::UGE, P::ULT, P::ULE},
        cmp.getPredicate());
    bool same = cmp.getLhs() == a && cmp.getRhs() == b;
    bool swapped = cmp.getLhs() == b && cmp.getRhs() == a;
    if (!ordering || (!same && !swapped))
      return {};
  } else {
    return {};
  }
  if (b == accumulator)
    std::swap(a, b);
  return a == accumulator && b != accumulator ? b : Value();
}

/// A comparison of `term` with `accumulator`: 1 if it holds for larger terms,
/// -1 if it holds for smaller ones, else 0.
static int orderOf(Value condition, Value term, Value accumulator) {
  auto cmp = condition.getDefiningOp<arith::CmpFOp>();
  if (!cmp)
    return 0;
  using P = arith::CmpFPredicate;
  int sign = cmp.getLhs() == term && cmp.getRhs() == accumulator   ? 1
             : cmp.getLhs() == accumulator && cmp.getRhs() == term ? -1
                                                                   : 0;
  switch (cmp.getPredicate()) {
  case P::OGT:
  case P::OGE:
  case P::UGT:
  case P::UGE:
    return sign;
  case P::OLT:
  case P::OLE:
  case P::ULT:
  case P::ULE:
    return -sign;
  default:
    return 0;
  }
}

namespace {
/// The parts that the two ways to share an extremum's cotangent have in common.
struct Extremum {
  linalg::LinalgOp op;
  VJPContext &vjp;
  Value term;
  AffineMap map;
  unsigned output;
  unsigned init;
  /// Operands that are initial values of accumulators.
  SmallVector<unsigned> accumulators;

  Value y() const {
    return static_cast<linalg::LinalgOp>(op)->getResult(output);
  }
  Value ct() const { return vjp.cotangent(output); }

  LogicalResult shareEvenly();
  LogicalResult giveToFirst();
  LogicalResult giveToChosen(unsigned position, Value index);
  std::optional<std::pair<unsigned, Value>> findChosenIndex();
  bool startsBelowEveryTerm(AdjointKernel &kernel);
  Value whereInitIsResult(Value share);
};
} // namespace

static Value isEqual(AdjointKernel &kernel, Value a, Value b) {
  return arith::CmpFOp::create(kernel.builder, kernel.op.getLoc(),
                               arith::CmpFPredicate::OEQ, a, b);
}

static Value choose(AdjointKernel &kernel, Value condition, Value a, Value b) {
  return arith::SelectOp::create(kernel.builder, kernel.op.getLoc(), condition,
                                 a, b);
}

static Value constant(AdjointKernel &kernel, double value, Type type) {
  OpBuilder &b = kernel.builder;
  TypedAttr attribute = isa<FloatType>(type)
                            ? TypedAttr(b.getFloatAttr(type, value))
                            : TypedAttr(b.getIntegerAttr(type, int64_t(value)));
  return arith::ConstantOp::create(b, kernel.op.getLoc(), attribute);
}

/// An elementwise kernel on the output's shape that compares the initial value
/// with the result: `build(isResult)` gives what it computes.
static Value
overInitialValue(const Extremum &e, Value other, Type type,
                 function_ref<Value(OpBuilder &, Value, Value)> build) {
  OpBuilder &b = e.vjp.builder;
  linalg::LinalgOp op = e.op;
  Location loc = op.getLoc();
  Value init = op->getOperand(e.init);
  unsigned rank = cast<RankedTensorType>(init.getType()).getRank();
  SmallVector<Value> ins{init, e.y()};
  if (other)
    ins.push_back(other);
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, e.ct()), type);
  SmallVector<AffineMap> maps(ins.size() + 1, b.getMultiDimIdentityMap(rank));
  return linalg::GenericOp::create(
             b, loc, empty.getType(), ins, empty, maps,
             SmallVector<utils::IteratorType>(rank,
                                              utils::IteratorType::parallel),
             [&](OpBuilder &inner, Location, ValueRange v) {
               Value hit = arith::CmpFOp::create(
                   inner, loc, arith::CmpFPredicate::OEQ, v[0], v[1]);
               linalg::YieldOp::create(
                   inner, loc, build(inner, hit, other ? v[2] : Value()));
             })
      .getResult(0);
}

/// The initial value's cotangent: `share` where it is the result.
Value Extremum::whereInitIsResult(Value share) {
  Type type = getElementTypeOrSelf(share.getType());
  Location loc = op.getLoc();
  return overInitialValue(
      *this, share, type, [&](OpBuilder &inner, Value hit, Value value) {
        Value zero =
            arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type));
        return arith::SelectOp::create(inner, loc, hit, value, zero)
            .getResult();
      });
}

/// As JAX's reduce_max: equal terms share the cotangent evenly.
LogicalResult Extremum::shareEvenly() {
  OpBuilder &b = vjp.builder;
  Location loc = op.getLoc();
  Type type = getElementTypeOrSelf(y().getType());
  Type countType = accumulationType(type);

  // How many terms equal the result; an initial value without a cotangent (a
  // constant, usually an infinity) takes no share.
  AdjointKernel counting(op);
  counting.addShapeSource(ct(), map);
  ScalarAdjoint recompute(counting.builder, loc, *op.getBlock(),
                          counting.primals);
  Value hit =
      isEqual(counting, recompute.primal(term), counting.addInput(y(), map));
  BlockArgument running = counting.addAccumulator(countType);
  Value one = choose(counting, hit, constant(counting, 1.0, countType),
                     constant(counting, 0.0, countType));
  Value next = arith::AddFOp::create(counting.builder, loc, running, one);
  Value start;
  if (vjp.isWanted(init))
    start = overInitialValue(
        *this, {}, countType, [&](OpBuilder &inner, Value isHit, Value) {
          return arith::UIToFPOp::create(inner, loc, countType, isHit)
              .getResult();
        });
  else
    start = fillZeros(b, loc, counting.emptyLike(b, init, countType));
  Value count = counting.cut(b, {{start, map, next, running}})[0];

  // Divided once for each result rather than once for each term.
  Value empty = counting.emptyLike(b, init, type);
  unsigned rank = cast<RankedTensorType>(empty.getType()).getRank();
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  Value share =
      linalg::GenericOp::create(
          b, loc, empty.getType(), ValueRange{ct(), count}, empty,
          ArrayRef<AffineMap>{identity, identity, identity},
          SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
          [&](OpBuilder &inner, Location, ValueRange v) {
            Value numerator = v[0], quotient;
            if (countType != type)
              numerator = arith::ExtFOp::create(inner, loc, countType, v[0]);
            quotient = arith::DivFOp::create(inner, loc, numerator, v[1]);
            if (countType != type)
              quotient = arith::TruncFOp::create(inner, loc, type, quotient);
            linalg::YieldOp::create(inner, loc, quotient);
          })
          .getResult(0);

  AdjointKernel kernel(op);
  kernel.addShapeSource(ct(), map);
  ScalarAdjoint adjoint(kernel.builder, loc, *op.getBlock(), kernel.primals);
  Value found =
      isEqual(kernel, adjoint.primal(term), kernel.addInput(y(), map));
  adjoint.seed(term, adjoint.guard(found, kernel.addInput(share, map)));
  if (failed(adjoint.propagate(wantedSources(op, vjp, accumulators))))
    return failure();
  emitOperandCotangents(kernel, adjoint, vjp, accumulators);
  if (failed(emitCapturedCotangents(kernel, adjoint, vjp)))
    return failure();
  if (vjp.isWanted(init))
    vjp.accumulate(init, whereInitIsResult(share));
  return success();
}

/// As JAX's and PyTorch's pooling: the first of equal terms of a window takes
/// the whole cotangent. One pass; a byte for each result says that it was
/// given.
LogicalResult Extremum::giveToFirst() {
  OpBuilder &b = vjp.builder;
  Location loc = op.getLoc();
  Type flag = b.getI8Type();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!vjp.isWanted(index) || llvm::is_contained(accumulators, index))
      continue;
    AdjointKernel kernel(op);
    kernel.addShapeSource(ct(), map);
    ScalarAdjoint adjoint(kernel.builder, loc, *op.getBlock(), kernel.primals);
    Value hit =
        isEqual(kernel, adjoint.primal(term), kernel.addInput(y(), map));
    BlockArgument given = kernel.addAccumulator(flag);
    Value isOpen =
        arith::CmpIOp::create(kernel.builder, loc, arith::CmpIPredicate::eq,
                              given, constant(kernel, 0, flag));
    Value takes = arith::AndIOp::create(kernel.builder, loc, hit, isOpen);
    Value nowGiven = choose(kernel, takes, constant(kernel, 1, flag), given);
    adjoint.seed(term, adjoint.guard(takes, kernel.addInput(ct(), map)));
    Value source = op.getMatchingBlockArgument(&operand);
    if (failed(adjoint.propagate(source)))
      return failure();
    Value contribution = adjoint.cotangent(source);
    if (!contribution)
      continue;
    Value start =
        vjp.isWanted(init)
            ? overInitialValue(*this, {}, flag,
                               [&](OpBuilder &inner, Value isHit, Value) {
                                 return arith::ExtUIOp::create(inner, loc, flag,
                                                               isHit)
                                     .getResult();
                               })
            : fillZeros(b, loc, kernel.emptyLike(b, init, flag));
    Type type = contribution.getType(), sumType = accumulationType(type);
    Value zeros = fillZeros(b, loc, kernel.emptyLike(b, index, sumType));
    BlockArgument sum = kernel.addAccumulator(sumType);
    Value next = arith::AddFOp::create(kernel.builder, loc, sum,
                                       widen(kernel, contribution, sumType));
    AffineMap readMap = op.getMatchingIndexingMap(&operand);
    Value total = kernel.cut(
        b, {{zeros, readMap, next, sum}, {start, map, nowGiven, given}})[0];
    vjp.accumulate(index, convertElements(b, loc, total, type));
  }
  if (vjp.isWanted(init))
    vjp.accumulate(init, whereInitIsResult(ct()));
  return success();
}

/// If another result is the position of the extremum along the only reduced
/// dimension, its number and the position's value in the body.
std::optional<std::pair<unsigned, Value>> Extremum::findChosenIndex() {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  if (loops.size() != 1)
    return std::nullopt;
  Operation *yield = op.getBlock()->getTerminator();
  Value accumulator = op.getMatchingBlockArgument(&op->getOpOperand(init));
  Operation *value = yield->getOperand(output).getDefiningOp();
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i) {
    Value own = op.getMatchingBlockArgument(op.getDpsInitOperand(i));
    auto select = yield->getOperand(i).getDefiningOp<arith::SelectOp>();
    if (i == output || !select ||
        op.getMatchingIndexingMap(op.getDpsInitOperand(i)) != map)
      continue;
    bool onTrue = select.getFalseValue() == own;
    Value index = onTrue ? select.getTrueValue() : select.getFalseValue();
    if (!onTrue && select.getTrueValue() != own)
      continue;
    // The same comparison has to choose the value and its position.
    int order = orderOf(select.getCondition(), term, accumulator);
    int wanted = onTrue ? order : -order;
    bool agrees = false;
    if (auto other = dyn_cast<arith::SelectOp>(value))
      agrees = other.getCondition() == select.getCondition() &&
               (onTrue ? other.getTrueValue() : other.getFalseValue()) == term;
    else if (isa<arith::MaximumFOp, arith::MaxNumFOp>(value))
      agrees = wanted == 1;
    else
      agrees = wanted == -1;
    Value source = index;
    while (Operation *cast = source.getDefiningOp())
      if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
              arith::ExtSIOp, arith::ExtUIOp>(cast))
        source = cast->getOperand(0);
      else
        break;
    auto position = source.getDefiningOp<linalg::IndexOp>();
    if (agrees && order != 0 && position && position.getDim() == loops[0])
      return std::make_pair(i, index);
  }
  return std::nullopt;
}

/// Returns true if the initial value can never be the result of a reduction of
/// finite terms: an infinity or the type's largest number.
bool Extremum::startsBelowEveryTerm(AdjointKernel &kernel) {
  ScalarAdjoint probe(kernel.builder, op.getLoc(), *op.getBlock(),
                      kernel.primals);
  std::optional<APFloat> start =
      probe.constantOf(op.getMatchingBlockArgument(&op->getOpOperand(init)));
  return start && (start->isInfinity() || start->isLargest());
}

/// An argmax says itself which term was chosen. Only the position is read.
LogicalResult Extremum::giveToChosen(unsigned position, Value index) {
  Location loc = op.getLoc();
  AdjointKernel kernel(op);
  kernel.addShapeSource(ct(), map);
  ScalarAdjoint adjoint(kernel.builder, loc, *op.getBlock(), kernel.primals);
  Value chosen = kernel.addInput(op->getResult(position), map);
  Value hit =
      arith::CmpIOp::create(kernel.builder, loc, arith::CmpIPredicate::eq,
                            adjoint.primal(index), chosen);
  if (!startsBelowEveryTerm(kernel)) {
    Value equal =
        isEqual(kernel, adjoint.primal(term), kernel.addInput(y(), map));
    hit = arith::AndIOp::create(kernel.builder, loc, hit, equal);
  }
  adjoint.seed(term, adjoint.guard(hit, kernel.addInput(ct(), map)));
  if (failed(adjoint.propagate(wantedSources(op, vjp, accumulators))))
    return failure();
  emitOperandCotangents(kernel, adjoint, vjp, accumulators);
  if (failed(emitCapturedCotangents(kernel, adjoint, vjp)))
    return failure();
  if (vjp.isWanted(init))
    vjp.accumulate(init, whereInitIsResult(ct()));
  return success();
}

FailureOr<bool> mlir::remat::buildExtremumVJP(linalg::LinalgOp op,
                                              VJPContext &vjp) {
  // The one output that has a cotangent.
  std::optional<unsigned> output;
  SmallVector<unsigned> accumulators;
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i) {
    if (isAccumulated(op, i))
      accumulators.push_back(op.getDpsInitOperand(i)->getOperandNumber());
    if (!vjp.cotangent(i))
      continue;
    if (output || !isAccumulated(op, i))
      return false;
    output = i;
  }
  OpOperand *init = op.getDpsInitOperand(*output);
  AffineMap map = op.getMatchingIndexingMap(init);
  Value term =
      matchExtremum(op.getBlock()->getTerminator()->getOperand(*output),
                    op.getMatchingBlockArgument(init));
  if (!term || !map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  SmallVector<Value> running =
      llvm::map_to_vector(accumulators, [&](unsigned index) -> Value {
        return op.getMatchingBlockArgument(&op->getOpOperand(index));
      });
  if (findDependents(*op.getBlock(), running).contains(term))
    return false;
  Extremum extremum{
      op, vjp, term, map, *output, init->getOperandNumber(), accumulators};
  bool readsWindows =
      llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
        return vjp.isWanted(operand.getOperandNumber()) &&
               !op.getMatchingIndexingMap(&operand).isProjectedPermutation(
                   /*allowZeroInResults=*/true);
      });
  LogicalResult built = success();
  if (auto chosen = extremum.findChosenIndex())
    built = extremum.giveToChosen(chosen->first, chosen->second);
  else
    built = readsWindows ? extremum.giveToFirst() : extremum.shareEvenly();
  if (failed(built))
    return failure();
  return true;
}
