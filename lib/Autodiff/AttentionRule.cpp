//===- AttentionRule.cpp - Derivative of attention ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residuals are one number for each row (log_sum), and the result:
// probabilities are recomputed from scores, as many at a time as a kernel
// holds. With p = exp(t - log_sum), the result is the sum of p * f * value, so
// that for g = cotangent . value
//
//   dt = p * (f * g - delta), df = p * g, delta = cotangent . result
//
// and the derivative of the body leads from there to the score and the
// operands (Dao et al., FlashAttention, 2022, section 3 and appendix B).
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"
#include "Rules.h"
#include "ScalarAdjoint.h"

#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/LogSum.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::remat;

/// The sum over columns of cotangent * result. What the loss does not depend on
/// may be undefined (a row with nothing to attend to): zero times that is zero.
static Value buildDelta(OpBuilder &b, AttentionOp op, Value cotangent) {
  Location loc = op.getLoc();
  unsigned count = op.getIndexingMaps().size();
  AffineMap full = op.getMap(count - 2), rows = op.getMap(count - 1);
  // The dimensions of the result are the loops.
  SmallVector<AffineExpr> dims(full.getNumDims(), b.getAffineConstantExpr(0));
  for (auto [dim, expr] : llvm::enumerate(full.getResults()))
    dims[cast<AffineDimExpr>(expr).getPosition()] = b.getAffineDimExpr(dim);
  unsigned rank = full.getNumResults();
  AffineMap reduced = rows.replaceDimsAndSymbols(dims, {}, rank, 0);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : reduced.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] =
        utils::IteratorType::parallel;
  Value logSum = op.getResults()[1];
  Value zeros = fillZeros(
      b, loc,
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, logSum),
                              op.getSumType()));
  return linalg::GenericOp::create(
             b, loc, zeros.getType(), ValueRange{cotangent, op.getResults()[0]},
             zeros, ArrayRef<AffineMap>{identity, identity, reduced}, iterators,
             [&](OpBuilder &inner, Location, ValueRange v) {
               Value zero = arith::ConstantOp::create(
                   inner, loc, inner.getZeroAttr(op.getSumType()));
               auto widen = [&](Value value) {
                 return convertScalarToDtype(inner, loc, value, op.getSumType(),
                                             /*isUnsignedCast=*/false);
               };
               Value cotangent = widen(v[0]), result = widen(v[1]);
               Value isZero = arith::CmpFOp::create(
                   inner, loc, arith::CmpFPredicate::OEQ, cotangent, zero);
               Value product =
                   arith::MulFOp::create(inner, loc, cotangent, result);
               product =
                   arith::SelectOp::create(inner, loc, isZero, zero, product);
               Value sum = arith::AddFOp::create(inner, loc, v[2], product);
               linalg::YieldOp::create(inner, loc, sum);
             })
      .getResult(0);
}

/// log_sum moves a score by its probability: the same as a smaller delta.
static Value subtractSumCotangent(OpBuilder &b, Location loc, Value delta,
                                  Value cotangent) {
  if (!cotangent)
    return delta;
  Value empty =
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, delta),
                              getElementTypeOrSelf(delta));
  return linalg::SubOp::create(b, loc, ValueRange{delta, cotangent},
                               ValueRange{empty})
      .getResult(0);
}

/// The body of the backward, for operands of scores that are differentiated.
static LogicalResult buildBody(AttentionOp op, AttentionBackwardOp backward) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  Block *block = new Block;
  backward.getBody().push_back(block);
  IRMapping primals;
  for (BlockArgument argument : body.getArguments())
    primals.map(argument, block->addArgument(argument.getType(), loc));
  Type type = op.getSumType();
  Value logSum = block->addArgument(type, loc);
  Value delta = block->addArgument(type, loc);
  Value g = block->addArgument(type, loc);

  OpBuilder b = OpBuilder::atBlockEnd(block);
  ScalarAdjoint adjoint(b, loc, body, primals);
  auto constant = [&](double value) { return adjoint.constant(value, type); };
  Value t = adjoint.primal(op.getModifiedScore());
  Value f = op.getFactor() ? adjoint.primal(op.getFactor()) : Value();
  auto multiply = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, loc, x, y);
  };
  // A masked score has probability zero, also in a row where all are masked,
  // whose sum is not a number.
  Value lowest = constant(-std::numeric_limits<double>::infinity());
  Value isMasked =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, t, lowest);
  Value power = math::ExpOp::create(b, loc, subtractLogSum(b, loc, t, logSum));
  Value p = arith::SelectOp::create(b, loc, isMasked, constant(0.0), power);
  Value w = f ? multiply(p, f) : p;
  Value change = arith::SubFOp::create(b, loc, f ? multiply(f, g) : g, delta);
  adjoint.seed(op.getModifiedScore(), multiply(p, change));
  if (f)
    adjoint.seed(op.getFactor(), multiply(p, g));

  unsigned first = op.getDims().rows.size() + 1;
  SmallVector<Value> sources{body.getArgument(first)};
  for (int64_t index : backward.getDifferentiated())
    sources.push_back(body.getArgument(first + 1 + index));
  if (failed(adjoint.propagate(sources)))
    return failure();
  SmallVector<Value> yielded;
  for (Value source : sources) {
    Value ct = adjoint.cotangent(source);
    yielded.push_back(ct ? ct : adjoint.constant(0.0, source.getType()));
  }
  yielded.insert(yielded.begin() + 1, w);
  YieldOp::create(b, loc, yielded);
  return success();
}

static LogicalResult buildAttentionVJP(AttentionOp op, VJPContext &vjp) {
  Value cotangent = vjp.cotangent(0), sumCotangent = vjp.cotangent(1);
  if (!cotangent && !sumCotangent)
    return success();
  if (!op.hasPureTensorSemantics())
    return op.emitOpError("is differentiated on tensors only; run "
                          "remat-differentiate before bufferization");
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getBody(), captured);
  for (Value value : captured)
    if (vjp.isCapturedValueWanted(value))
      return op.emitOpError()
             << "has a body that reads a number which depends on a parameter "
                "from around; make it an operand of scores, a tensor without "
                "dimensions";
  OpBuilder &b = vjp.builder;
  Location loc = op.getLoc();
  cotangent = vjp.cotangentOrZero(0);
  Value delta =
      subtractSumCotangent(b, loc, buildDelta(b, op, cotangent), sumCotangent);
  SmallVector<Value> inits;
  auto addInit = [&](Value operand, Type type) {
    Value empty = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, operand), type);
    inits.push_back(fillZeros(b, loc, empty));
  };
  // Gradients are rounded as the result is.
  Type type = getElementTypeOrSelf(op.getInit());
  for (Value factor : {op.getQuery(), op.getKey(), op.getValue()})
    addInit(factor, type);
  SmallVector<int64_t> differentiated;
  for (auto [index, operand] : llvm::enumerate(op.getScoreOperands()))
    if (vjp.isWanted(3 + index)) {
      differentiated.push_back(index);
      addInit(operand, accumulationType(getElementTypeOrSelf(operand)));
    }
  auto backward = AttentionBackwardOp::create(
      b, loc, TypeRange(ValueRange(inits)), op.getQuery(), op.getKey(),
      op.getValue(), op.getScoreOperands(), cotangent, op.getResults()[1],
      delta, inits, op.getIndexingMaps(), differentiated);
  if (failed(buildBody(op, backward)))
    return failure();
  for (auto [index, result] : llvm::enumerate(backward.getResults())) {
    unsigned operand = index < 3 ? index : 3 + differentiated[index - 3];
    if (vjp.isWanted(operand))
      vjp.accumulate(operand, convertElements(b, loc, result,
                                              getElementTypeOrSelf(
                                                  op->getOperand(operand))));
  }
  return success();
}

namespace {
struct AttentionRule
    : DifferentiableOpInterface::ExternalModel<AttentionRule, AttentionOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    return buildAttentionVJP(cast<AttentionOp>(op), vjp);
  }
};
} // namespace

void mlir::remat::registerAttentionRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *dialect) {
    AttentionOp::attachInterface<AttentionRule>(*context);
    context->loadDialect<arith::ArithDialect, linalg::LinalgDialect,
                         math::MathDialect, tensor::TensorDialect>();
  });
}
