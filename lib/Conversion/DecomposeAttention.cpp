//===- DecomposeAttention.cpp - Attention as products and a softmax -------===//
//
// For targets without a kernel for attention, and as what such a kernel is
// compared with. Every pair of positions has a number in memory here.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// What both directions need.
template <typename Op> class Decomposition {
public:
  Decomposition(Op op, OpBuilder &b)
      : op(op), b(b), loc(op.getLoc()), dims(op.getDims()),
        parts(b, loc, op.getBody().front(), dims), type(op.getSumType()),
        values(op.getIndexedValues()) {
    MLIRContext *context = b.getContext();
    unsigned loops = op.getMap(0).getNumDims();
    sizes.resize(loops);
    for (unsigned index : llvm::seq<unsigned>(values.size()))
      for (auto [dim, expr] : llvm::enumerate(op.getMap(index).getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          if (OpFoldResult &size = sizes[loop.getPosition()]; !size)
            size = tensor::getMixedSize(b, loc, values[index], dim);
    SmallVector<AffineExpr> score;
    for (unsigned dim : dims.getScoreDims())
      score.push_back(b.getAffineDimExpr(dim));
    scoreMap = AffineMap::get(loops, 0, score, context);
    rowMap = op.getMap(values.size() - 1);
  }

protected:
  Indexed operand(unsigned index) { return {values[index], op.getMap(index)}; }
  SmallVector<Indexed> scoreOperands() {
    SmallVector<Indexed> result;
    for (unsigned index : llvm::seq<unsigned>(3, values.size() - 2))
      result.push_back(operand(index));
    return result;
  }
  Value createEmpty(AffineMap map, Type element) {
    SmallVector<OpFoldResult> shape;
    for (AffineExpr expr : map.getResults())
      shape.push_back(sizes[cast<AffineDimExpr>(expr).getPosition()]);
    return tensor::EmptyOp::create(b, loc, shape, element);
  }
  Value fill(Value destination, double number) {
    Type element = getElementTypeOrSelf(destination);
    Value value = arith::ConstantOp::create(
        b, loc, FloatAttr::get(cast<FloatType>(element), number));
    return linalg::FillOp::create(b, loc, value, destination).getResult(0);
  }
  Value createScores(Indexed x, Indexed y) {
    return parts.multiply(x, y,
                          {fill(createEmpty(scoreMap, type), 0), scoreMap});
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
  SmallVector<Value> values;
  SmallVector<OpFoldResult> sizes;
  AffineMap scoreMap, rowMap;
};

class Forward : Decomposition<AttentionOp> {
public:
  using Decomposition::Decomposition;

  SmallVector<Value> build() {
    Value scores = createScores(operand(0), operand(1));
    SmallVector<Indexed> inputs{{scores, scoreMap}};
    llvm::append_range(inputs, scoreOperands());
    Value modified =
        parts.emit(inputs, {{createEmpty(scoreMap, type), scoreMap}},
                   [&](OpBuilder &inner, ValueRange v) {
                     return Results{parts.inlineBody(
                         inner, op.getModifiedScore(), v.drop_back())};
                   })[0];
    Value lowest = fill(createEmpty(rowMap, type),
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
    Value sum = parts.emit(
        {{powers, scoreMap}}, {{fill(createEmpty(rowMap, type), 0), rowMap}},
        [&](OpBuilder &inner, ValueRange v) {
          return Results{arith::AddFOp::create(inner, loc, v[1], v[0])};
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
          return Results{convertFloat(inner, loc, p, factorType)};
        })[0];
    unsigned last = values.size() - 1;
    Value result = parts.multiply({probabilities, scoreMap}, operand(2),
                                  {fill(op.getInit(), 0), op.getMap(last - 1)});
    Value logSum = parts.emit(
        {{maximum, rowMap}, {sum, rowMap}}, {{op.getLogSum(), rowMap}},
        [&](OpBuilder &inner, ValueRange v) {
          Value log = math::LogOp::create(inner, loc, v[1]);
          return Results{arith::AddFOp::create(inner, loc, v[0], log)};
        })[0];
    return {result, logSum};
  }
};

class Backward : Decomposition<AttentionBackwardOp> {
public:
  using Decomposition::Decomposition;

  SmallVector<Value> build() {
    unsigned last = values.size() - 1;
    Indexed cotangent = operand(last - 1);
    Value scores = createScores(operand(0), operand(1));
    Value products = createScores(cotangent, operand(2));
    SmallVector<Indexed> inputs{{scores, scoreMap}}, outputs;
    llvm::append_range(inputs, scoreOperands());
    inputs.push_back({op.getLogSum(), rowMap});
    inputs.push_back({op.getDelta(), rowMap});
    inputs.push_back({products, scoreMap});
    for (Value yielded : op.getYielded())
      outputs.push_back({createEmpty(scoreMap, yielded.getType()), scoreMap});
    Results all =
        parts.emit(inputs, outputs, [&](OpBuilder &inner, ValueRange v) {
          Results elements;
          for (Value yielded : op.getYielded())
            elements.push_back(
                parts.inlineBody(inner, yielded, v.take_front(inputs.size())));
          return elements;
        });
    Indexed ds{all[0], scoreMap}, w{all[1], scoreMap};
    auto init = [&](unsigned index) {
      return Indexed{op.getInits()[index], op.getMap(op.getMapOfInit(index))};
    };
    SmallVector<Value> results{parts.multiply(ds, operand(1), init(0)),
                               parts.multiply(ds, operand(0), init(1)),
                               parts.multiply(w, cotangent, init(2))};
    for (unsigned index : llvm::seq<unsigned>(2, all.size()))
      results.push_back(parts.emit(
          {{all[index], scoreMap}}, {init(index + 1)},
          [&](OpBuilder &inner, ValueRange v) {
            Value term = convertFloat(inner, loc, v[0], v[1].getType());
            return Results{arith::AddFOp::create(inner, loc, v[1], term)};
          })[0]);
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
