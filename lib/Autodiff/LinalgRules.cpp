//===- LinalgRules.cpp - Derivative rules of the linalg dialect -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rule covers every structured operation, named or generic, through its
// interface: iteration space, indexing maps and scalar body. It chooses between
// the linear case (no accumulator, or a sum), maximum and minimum, and a
// replay.
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"
#include "remat/Analysis/Activity.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;

/// The values of the body that are `accumulator` plus something that no
/// accumulator enters, possibly under a mask: then every term has the cotangent
/// of the sum.
static DenseSet<Value> findSums(Block &body, Value accumulator,
                                const DenseSet<Value> &dependent) {
  DenseSet<Value> sums = {accumulator};
  body.walk([&](Operation *op) {
    auto isSum = [&](unsigned i) { return sums.contains(op->getOperand(i)); };
    auto isFree = [&](unsigned i) {
      return !dependent.contains(op->getOperand(i));
    };
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (OpResult result : op->getResults())
        if (isFree(0) && llvm::all_of(op->getRegions(), [&](Region &region) {
              return sums.contains(region.front().getTerminator()->getOperand(
                  result.getResultNumber()));
            }))
          sums.insert(result);
      return;
    }
    if (llvm::TypeSwitch<Operation *, bool>(op)
            .Case([&](arith::AddFOp) {
              return (isSum(0) && isFree(1)) || (isFree(0) && isSum(1));
            })
            .Case([&](arith::SubFOp) { return isSum(0) && isFree(1); })
            .Case<arith::ExtFOp, arith::TruncFOp>(
                [&](auto) { return isSum(0); })
            .Case([&](arith::SelectOp) {
              return isFree(0) && isSum(1) && isSum(2);
            })
            .Case(
                [&](math::FmaOp) { return isFree(0) && isFree(1) && isSum(2); })
            .Default(false))
      sums.insert(op->getResult(0));
  });
  return sums;
}

namespace {
enum class Form { Linear, Nonlinear, Overwritten };
} // namespace

/// How the outputs whose cotangents are known use their accumulators.
static Form classify(linalg::LinalgOp op, VJPContext &vjp) {
  Block &body = *op.getBlock();
  SmallVector<Value> accumulators;
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i)
    if (isAccumulated(op, i))
      accumulators.push_back(
          op.getMatchingBlockArgument(op.getDpsInitOperand(i)));
  DenseSet<Value> dependent = findDependents(body, accumulators);
  Form form = Form::Linear;
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i) {
    if (!vjp.cotangent(i))
      continue;
    Value yield = body.getTerminator()->getOperand(i);
    if (!isAccumulated(op, i)) {
      if (dependent.contains(yield))
        form = Form::Nonlinear;
      continue;
    }
    if (!dependent.contains(yield))
      return Form::Overwritten;
    Value own = op.getMatchingBlockArgument(op.getDpsInitOperand(i));
    if (!findSums(body, own, dependent).contains(yield))
      form = Form::Nonlinear;
  }
  return form;
}

namespace {
/// The scalar adjoint of a linear operation, over a kernel of its own.
struct LinearAdjoint {
  LinearAdjoint(linalg::LinalgOp op, VJPContext &vjp, bool readsResults)
      : kernel(op), adjoint(kernel.builder, op.getLoc(), *op.getBlock(),
                            primalsOf(op, readsResults)) {
    Block &body = *op.getBlock();
    for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i)
      if (Value ct = vjp.cotangent(i)) {
        AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
        kernel.addShapeSource(ct, map);
        adjoint.seed(body.getTerminator()->getOperand(i),
                     kernel.addInput(ct, map));
      }
  }

  /// With `readsResults`, what the body yields is known from the results.
  IRMapping primalsOf(linalg::LinalgOp op, bool readsResults) {
    IRMapping primals = kernel.primals;
    Operation *yield = op.getBlock()->getTerminator();
    for (unsigned i = 0, end = op.getNumDpsInits(); readsResults && i < end;
         ++i) {
      Value value = yield->getOperand(i);
      if (isAccumulated(op, i) || !value.getDefiningOp() ||
          value.getParentBlock() != op.getBlock())
        continue;
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
      primals.map(value, kernel.addInput(op->getResult(i), map));
    }
    return primals;
  }

  /// The tensors, as large as the iteration space, among the operation's own
  /// operands that the adjoint reads. They would have to be saved.
  unsigned countLargeOperandsRead(VJPContext &vjp) {
    linalg::LinalgOp op = kernel.op;
    SmallVector<Value> terms;
    for (OpOperand &operand : op->getOpOperands())
      if (vjp.isWanted(operand.getOperandNumber()))
        if (Value term =
                adjoint.cotangent(op.getMatchingBlockArgument(&operand)))
          terms.push_back(term);
    for (const ScalarAdjoint::Gather &gather : adjoint.gathers())
      terms.push_back(gather.cotangent);
    llvm::SmallSetVector<Value, 4> large;
    for (Value argument : kernel.inputsRead(terms)) {
      Value tensor = kernel.tensorOf(argument);
      if (llvm::is_contained(op->getOperands(), tensor) && isLarge(tensor))
        large.insert(tensor);
    }
    return large.size();
  }

  bool isLarge(Value tensor) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    auto result = cast<RankedTensorType>(kernel.op->getResult(0).getType());
    if (!type)
      return false;
    if (type.hasStaticShape() && result.hasStaticShape())
      return type.getNumElements() >= result.getNumElements();
    return type.getRank() >= result.getRank();
  }

  AdjointKernel kernel;
  ScalarAdjoint adjoint;
};
} // namespace

static LogicalResult buildLinearVJP(linalg::LinalgOp op, VJPContext &vjp) {
  SmallVector<unsigned> accumulators;
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i)
    if (isAccumulated(op, i))
      accumulators.push_back(op.getDpsInitOperand(i)->getOperandNumber());
  SmallVector<Value> sources = wantedSources(op, vjp, accumulators);

  // Which forward values are saved is decided here and nowhere later, so that
  // the bits are the same under every policy. The result replaces operands
  // (relu, tanh, exp, sigmoid): it is usually the next operation's input
  // anyway.
  LinearAdjoint fromOperands(op, vjp, /*readsResults=*/false);
  LinearAdjoint fromResults(op, vjp, /*readsResults=*/true);
  if (failed(fromOperands.adjoint.propagate(sources)))
    return failure();
  (void)fromResults.adjoint.propagate(sources);
  LinearAdjoint &chosen = fromResults.countLargeOperandsRead(vjp) <
                                  fromOperands.countLargeOperandsRead(vjp)
                              ? fromResults
                              : fromOperands;
  emitOperandCotangents(chosen.kernel, chosen.adjoint, vjp, accumulators);
  if (failed(emitCapturedCotangents(chosen.kernel, chosen.adjoint, vjp)))
    return failure();
  for (unsigned index : accumulators)
    if (vjp.isWanted(index))
      if (Value ct = vjp.cotangent(index - op.getNumDpsInputs()))
        vjp.accumulate(index, ct);
  return success();
}

static LogicalResult buildStructuredVJP(linalg::LinalgOp op, VJPContext &vjp) {
  if (!op.hasPureTensorSemantics())
    return op.emitOpError("is differentiated on tensors only; run "
                          "remat-differentiate before bufferization");
  bool anyCotangent = false;
  for (unsigned i = 0, end = op->getNumResults(); i < end; ++i)
    anyCotangent |= bool(vjp.cotangent(i));
  if (!anyCotangent)
    return success();
  for (OpOperand &operand : op->getOpOperands())
    if (vjp.isWanted(operand.getOperandNumber()) &&
        !isa<FloatType>(getElementTypeOrSelf(operand.get().getType())))
      return op.emitOpError("operand #")
             << operand.getOperandNumber() << " of element type "
             << getElementTypeOrSelf(operand.get().getType())
             << " cannot be differentiated; only f16, bf16, f32 and f64 can";
  // With user-defined iteration orders, two iterations may never write the same
  // element in parallel; the verifier does not say so.
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i)
    if (isAccumulated(op, i) && isParallel(op))
      return op.emitOpError("output #")
             << i << " is written by several parallel iterations; mark the "
             << "loops that its map omits as reductions";

  switch (classify(op, vjp)) {
  case Form::Linear:
    return buildLinearVJP(op, vjp);
  case Form::Overwritten:
    return op.emitOpError("overwrites an output in every iteration of a "
                          "reduction; its derivative would be that of the last "
                          "iteration only. Combine with the output's value in "
                          "the body, or slice the input");
  case Form::Nonlinear:
    break;
  }
  FailureOr<bool> built = buildExtremumVJP(op, vjp);
  if (failed(built))
    return failure();
  return *built ? success() : buildReplayVJP(op, vjp);
}

/// From the result: dx = y * (dy - sum(dy * y)). A row that the loss does not
/// depend on may be undefined (all -inf, masked by a safe softmax's select):
/// a factor of zero gives zero, whatever y is. As y is not negative, the zero
/// has the product's sign.
static LogicalResult buildSoftmaxVJP(linalg::SoftmaxOp op, VJPContext &vjp) {
  Value dy = vjp.cotangent(0);
  if (!dy || !vjp.isWanted(0))
    return success();
  if (op.getResult().empty())
    return op.emitOpError("is differentiated on tensors only; run "
                          "remat-differentiate before bufferization");
  OpBuilder &b = vjp.builder;
  Location loc = op.getLoc();
  Value y = op.getResult()[0];
  auto type = cast<RankedTensorType>(y.getType());
  Type elementType = type.getElementType();
  unsigned rank = type.getRank(), dim = op.getDimension();
  Type sumType = accumulationType(elementType);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, dy);
  SmallVector<OpFoldResult> outer = sizes;
  outer.erase(outer.begin() + dim);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  AffineMap reduced = identity.dropResult(dim);
  SmallVector<utils::IteratorType> parallel(rank,
                                            utils::IteratorType::parallel);
  SmallVector<utils::IteratorType> reducing = parallel;
  reducing[dim] = utils::IteratorType::reduction;
  auto extend = [&](OpBuilder &inner, Value v) -> Value {
    return v.getType() == sumType
               ? v
               : Value(arith::ExtFOp::create(inner, loc, sumType, v));
  };
  auto multiply = [&](OpBuilder &inner, Value factor, Value y) -> Value {
    Value zero =
        arith::ConstantOp::create(inner, loc, inner.getZeroAttr(sumType));
    Value isZero = arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ,
                                         factor, zero);
    Value product = arith::MulFOp::create(inner, loc, factor, extend(inner, y));
    return arith::SelectOp::create(inner, loc, isZero, factor, product);
  };

  Value zeros =
      fillZeros(b, loc, tensor::EmptyOp::create(b, loc, outer, sumType));
  auto sum = linalg::GenericOp::create(
      b, loc, zeros.getType(), ValueRange{dy, y}, zeros,
      ArrayRef<AffineMap>{identity, identity, reduced}, reducing,
      [&](OpBuilder &inner, Location, ValueRange v) {
        Value product = multiply(inner, extend(inner, v[0]), v[1]);
        Value next = arith::AddFOp::create(inner, loc, v[2], product);
        linalg::YieldOp::create(inner, loc, next);
      });
  Value empty = tensor::EmptyOp::create(b, loc, sizes, elementType);
  auto dx = linalg::GenericOp::create(
      b, loc, empty.getType(), ValueRange{dy, y, sum.getResult(0)}, empty,
      ArrayRef<AffineMap>{identity, identity, reduced, identity}, parallel,
      [&](OpBuilder &inner, Location, ValueRange v) {
        Value centered =
            arith::SubFOp::create(inner, loc, extend(inner, v[0]), v[2]);
        Value product = multiply(inner, centered, v[1]);
        if (sumType != elementType)
          product = arith::TruncFOp::create(inner, loc, elementType, product);
        linalg::YieldOp::create(inner, loc, product);
      });
  vjp.accumulate(0, dx.getResult(0));
  return success();
}

namespace {
template <typename Op>
struct StructuredRule
    : DifferentiableOpInterface::ExternalModel<StructuredRule<Op>, Op> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    return buildStructuredVJP(cast<linalg::LinalgOp>(op), vjp);
  }
};

struct SoftmaxRule
    : DifferentiableOpInterface::ExternalModel<SoftmaxRule, linalg::SoftmaxOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    return buildSoftmaxVJP(cast<linalg::SoftmaxOp>(op), vjp);
  }
};
} // namespace

template <typename... Ops>
static void attachStructuredRule(MLIRContext *context) {
  (Ops::template attachInterface<StructuredRule<Ops>>(*context), ...);
}

void mlir::remat::registerLinalgRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachStructuredRule<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
    linalg::SoftmaxOp::attachInterface<SoftmaxRule>(*context);
    // The rules build these whatever the input holds.
    context->loadDialect<arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect, tensor::TensorDialect>();
  });
}
