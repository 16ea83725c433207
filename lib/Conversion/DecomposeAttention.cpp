//===- DecomposeAttention.cpp - Attention as products and a softmax -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For targets without a kernel for attention, and as what such a kernel is
// compared with. Every pair of positions has a number in memory here.
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/LogSum.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The parts that forward and backward have in common.
template <typename Op> class Decomposition {
public:
  Decomposition(Op op, OpBuilder &b)
      : op(op), b(b), loc(op.getLoc()), dims(op.getDims()),
        parts(b, loc, op.getBody().front(), dims), type(op.getSumType()),
        operands(getIndexedOperands(op)) {
    MLIRContext *context = b.getContext();
    unsigned loops = op.getMap(0).getNumDims();
    sizes.resize(loops);
    for (const Indexed &operand : operands)
      for (auto [dim, expr] : llvm::enumerate(operand.map.getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          if (OpFoldResult &size = sizes[loop.getPosition()]; !size)
            size = tensor::getMixedSize(b, loc, operand.value, dim);
    SmallVector<AffineExpr> score;
    for (unsigned dim : dims.getScoreDims())
      score.push_back(b.getAffineDimExpr(dim));
    scoreMap = AffineMap::get(loops, 0, score, context);
    rowMap = operands.back().map;
  }

protected:
  ArrayRef<Indexed> scoreOperands() {
    return ArrayRef(operands).drop_front(3).drop_back(2);
  }
  Value createEmpty(AffineMap map, Type element) {
    SmallVector<OpFoldResult> shape;
    for (AffineExpr expr : map.getResults())
      shape.push_back(sizes[cast<AffineDimExpr>(expr).getPosition()]);
    return tensor::EmptyOp::create(b, loc, shape, element);
  }
  Value createScores(Indexed x, Indexed y) {
    return parts.multiply(
        x, y, {parts.fill(createEmpty(scoreMap, type), 0), scoreMap});
  }
  /// Adds products to `sum`, which may be of a narrower type: rounded once.
  Value multiplyInto(Indexed x, Indexed y, Indexed sum, bool accumulates) {
    if (getElementTypeOrSelf(sum.value) == type)
      return parts.multiply(
          x, y, {accumulates ? sum.value : parts.fill(sum.value, 0), sum.map});
    Value wide = parts.multiply(
        x, y, {parts.fill(createEmpty(sum.map, type), 0), sum.map});
    if (accumulates)
      return parts.accumulate({wide, sum.map}, sum);
    return convertElementsInto(b, loc, wide, sum.value).getResult(0);
  }
  Value exp(OpBuilder &inner, Value x, Value y) {
    return math::ExpOp::create(
        inner, loc, arith::SubFOp::create(inner, loc, x, y).getResult());
  }

  using Results = AttentionParts::Results;
  Op op;
  OpBuilder &b;
  Location loc;
  AttentionDims dims;
  AttentionParts parts;
  Type type;
  SmallVector<Indexed> operands;
  SmallVector<OpFoldResult> sizes;
  AffineMap scoreMap, rowMap;
};

class Forward : Decomposition<AttentionOp> {
public:
  using Decomposition::Decomposition;

  SmallVector<Value> build() {
    Value scores = createScores(operands[0], operands[1]);
    SmallVector<Indexed> inputs{{scores, scoreMap}};
    llvm::append_range(inputs, scoreOperands());
    Value modified =
        parts.emit(inputs, {{createEmpty(scoreMap, type), scoreMap}},
                   [&](OpBuilder &inner, ValueRange v) {
                     return Results{parts.inlineBody(
                         inner, op.getModifiedScore(), v.drop_back())};
                   })[0];
    Value lowest = parts.fill(createEmpty(rowMap, type),
                              -std::numeric_limits<double>::infinity());
    Value maximum = parts.emit(
        {{modified, scoreMap}}, {{lowest, rowMap}},
        [&](OpBuilder &inner, ValueRange v) {
          return Results{arith::MaximumFOp::create(inner, loc, v[0], v[1])};
        })[0];
    Value powers = parts.emit({{modified, scoreMap}, {maximum, rowMap}},
                              {{createEmpty(scoreMap, type), scoreMap}},
                              [&](OpBuilder &inner, ValueRange v) {
                                return Results{exp(inner, v[0], v[1])};
                              })[0];
    Value sum = parts.emit({{powers, scoreMap}},
                           {{parts.fill(createEmpty(rowMap, type), 0), rowMap}},
                           [&](OpBuilder &inner, ValueRange v) {
                             return Results{
                                 arith::AddFOp::create(inner, loc, v[1], v[0])};
                           })[0];
    // Rounded as the values are, so that the product is one of their type.
    Type factorType = getElementTypeOrSelf(op.getValue());
    inputs.front() = {powers, scoreMap};
    inputs.push_back({sum, rowMap});
    Value probabilities = parts.emit(
        inputs, {{createEmpty(scoreMap, factorType), scoreMap}},
        [&](OpBuilder &inner, ValueRange v) {
          Value p = arith::DivFOp::create(inner, loc, v.front(),
                                          v.drop_back().back());
          // The factor does not read the score, in whose place the power is.
          if (Value factor = op.getFactor())
            p = arith::MulFOp::create(
                inner, loc, p, parts.inlineBody(inner, factor, v.drop_back(2)));
          return Results{convertScalarToDtype(inner, loc, p, factorType,
                                              /*isUnsignedCast=*/false)};
        })[0];
    unsigned last = operands.size() - 1;
    Value result = multiplyInto({probabilities, scoreMap}, operands[2],
                                {op.getInit(), op.getMap(last - 1)},
                                /*accumulates=*/false);
    Value logSum = parts.emit(
        {{maximum, rowMap}, {sum, rowMap}}, {{op.getLogSum(), rowMap}},
        [&](OpBuilder &inner, ValueRange v) {
          return Results{createLogSum(inner, loc, v[0], v[1])};
        })[0];
    return {result, logSum};
  }
};

class Backward : Decomposition<AttentionBackwardOp> {
public:
  using Decomposition::Decomposition;

  SmallVector<Value> build() {
    unsigned last = operands.size() - 1;
    Indexed cotangent = operands[last - 1];
    Value scores = createScores(operands[0], operands[1]);
    Value products = createScores(cotangent, operands[2]);
    SmallVector<Indexed> inputs{{scores, scoreMap}}, outputs;
    llvm::append_range(inputs, scoreOperands());
    inputs.push_back({op.getLogSum(), rowMap});
    inputs.push_back({op.getDelta(), rowMap});
    inputs.push_back({products, scoreMap});
    for (Value yielded : op.getYielded())
      outputs.push_back({createEmpty(scoreMap, yielded.getType()), scoreMap});
    Results all =
        parts.emit(inputs, outputs, [&](OpBuilder &inner, ValueRange v) {
          return parts.inlineBody(inner, op.getYielded(),
                                  v.take_front(inputs.size()));
        });
    Indexed ds{all[0], scoreMap}, w{all[1], scoreMap};
    auto init = [&](unsigned index) {
      return Indexed{op.getInits()[index], op.getMap(op.getMapOfInit(index))};
    };
    SmallVector<Value> results{
        multiplyInto(ds, operands[1], init(0), /*accumulates=*/true),
        multiplyInto(ds, operands[0], init(1), /*accumulates=*/true),
        multiplyInto(w, cotangent, init(2), /*accumulates=*/true)};
    for (unsigned index : llvm::seq<unsigned>(2, all.size()))
      results.push_back(
          parts.accumulate({all[index], scoreMap}, init(index + 1)));
    return results;
  }
};

template <typename Op, typename Builder>
struct Decomposer
    : linalg::AggregatedOpInterface::ExternalModel<Decomposer<Op, Builder>,
                                                   Op> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &b) const {
    return Builder(cast<Op>(op), b).build();
  }
};
} // namespace

void remat::registerAttentionDecomposition(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    AttentionOp::attachInterface<Decomposer<AttentionOp, Forward>>(*context);
    AttentionBackwardOp::attachInterface<
        Decomposer<AttentionBackwardOp, Backward>>(*context);
  });
}
