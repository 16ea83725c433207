//===- ScoreBody.cpp - Elementwise kernels as one scalar body -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScoreBody.h"

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

bool mlir::remat::isInlinableKernel(Operation *op) {
  // A tensor that the body extracts from is not read element by element, and
  // the derivative of an attention does not inline branches.
  return isElementwiseKernel(op) && !extractsElements(op) &&
         llvm::all_of(op->getRegion(0).front(), [&](Operation &scalar) {
           return scalar.getNumRegions() == 0 && isPure(&scalar);
         });
}

AffineMap mlir::remat::invertProjection(AffineMap map) {
  Builder b(map.getContext());
  SmallVector<AffineExpr> results(map.getNumDims(), b.getAffineConstantExpr(0));
  for (auto [result, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      results[dim.getPosition()] = b.getAffineDimExpr(result);
  return AffineMap::get(map.getNumResults(), 0, results, b.getContext());
}

ScoreBody::ScoreBody(OpBuilder &b, Location loc, Type scoreType,
                     Operation *product, AffineMap scoreMap,
                     linalg::SoftmaxOp softmax)
    : ScoreBody(b, loc, scoreType, scoreMap.getNumDims(), softmax->getBlock()) {
  this->product = product;
  this->scoreMap = scoreMap;
  this->softmax = softmax;
}

ScoreBody::ScoreBody(OpBuilder &b, Location loc, Type scoreType, unsigned rank,
                     Block *around)
    : builder(b.getContext()), loc(loc), rank(rank), around(around),
      block(new Block) {
  for ([[maybe_unused]] unsigned dim : llvm::seq(rank))
    block->addArgument(builder.getIndexType(), loc);
  block->addArgument(scoreType, loc);
  builder.setInsertionPointToEnd(block);
}

ScoreBody::~ScoreBody() { delete block; }

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns true if all elements of `tensor` are one constant.
static bool isSplat(Value tensor) {
  DenseElementsAttr constant;
  return matchPattern(tensor, m_Constant(&constant)) && constant.isSplat() &&
         isa<FloatType, IntegerType>(constant.getElementType());
}

/// Appends the operands of the kernel or reshape that computes `value` element
/// by element. Returns true if there is one.
static bool appendElementSources(Value value, SmallVectorImpl<Value> &sources) {
  Operation *op = value.getDefiningOp();
  if (isUnitReshape(op)) {
    sources.push_back(op->getOperand(0));
    return true;
  }
  if (!isInlinableKernel(op))
    return false;
  llvm::append_range(sources, cast<LinalgOp>(op).getDpsInputs());
  return true;
}

/// Returns true if elementwise kernels compute `value` from a result of
/// `source`.
bool ScoreBody::dependsOn(Value value, Operation *source) {
  if (!source)
    return false;
  DenseMap<Value, bool> &known = dependences[source];
  auto appendSources = [&](Value value, SmallVectorImpl<Value> &sources) {
    Operation *op = value.getDefiningOp();
    if (op && op != source && op->getBlock() == around)
      appendElementSources(value, sources);
  };
  return evaluateOnce<bool>(value, known, appendSources, [&](Value value) {
    SmallVector<Value> sources;
    appendSources(value, sources);
    return value.getDefiningOp() == source ||
           llvm::any_of(sources, [&](Value value) { return known.at(value); });
  });
}

/// Bytes of the tensors from which elementwise kernels compute `value`, at most
/// its own.
int64_t ScoreBody::getSourceBytes(Value value) {
  auto hasBytes = [](Value value) {
    return isa<ShapedType>(value.getType()) && !isSplat(value);
  };
  return evaluateOnce<int64_t>(
      value, sourceBytes,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (hasBytes(value))
          appendElementSources(value, sources);
      },
      [&](Value value) -> int64_t {
        if (!hasBytes(value))
          return 0;
        SmallVector<Value> sources;
        int64_t own = estimateBytes(value.getType()), bytes = 0;
        if (!appendElementSources(value, sources))
          return own;
        for (Value source : sources)
          bytes += sourceBytes.at(source);
        return std::min(own, bytes);
      });
}

/// Returns true if `value`, which does not depend on the scores, is inlined,
/// since that reads less than `value` has: a mask of positions, a draw, a
/// broadcast.
bool ScoreBody::shouldInline(Value value) {
  return getSourceBytes(value) < estimateBytes(value.getType());
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

Value ScoreBody::convert(Value value, Type type) {
  return convertScalarToDtype(builder, loc, value, type,
                              /*isUnsignedCast=*/false);
}

Value ScoreBody::indexAt(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return block->getArgument(dim.getPosition());
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, constant.getValue());
  return affine::AffineApplyOp::create(
      builder, loc, AffineMap::get(rank, 0, expr),
      ValueRange(block->getArguments().take_front(rank)));
}

FailureOr<Value> ScoreBody::readOperand(Value tensor, AffineMap map) {
  Read read = lookThroughCopies({tensor, map});
  if (read.map.isProjectedPermutation(/*allowZeroInResults=*/true))
    std::tie(tensor, map) = std::pair(read.source, read.map);
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return failure();
  operands.push_back(tensor);
  maps.push_back(map);
  return Value(block->addArgument(getElementTypeOrSelf(tensor), loc));
}

/// The element of `tensor` at `map` of the indices.
FailureOr<Value> ScoreBody::read(Value tensor, AffineMap map) {
  if (Value value = known.lookup({tensor, map}))
    return value;
  FailureOr<Value> value = failure();
  auto result = dyn_cast<OpResult>(tensor);
  auto kernel = dyn_cast_or_null<LinalgOp>(tensor.getDefiningOp());
  if (isSplat(tensor)) {
    DenseElementsAttr constant;
    matchPattern(tensor, m_Constant(&constant));
    value = Value(arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(constant.getSplatValue<Attribute>())));
  } else if (product && tensor.getDefiningOp() == product) {
    // Each score is read in its own place only.
    if (map != scoreMap)
      return failure();
    Value score = block->getArgument(rank);
    Type type = getElementTypeOrSelf(tensor);
    // Rounds the score to the type of the product's result.
    value = convert(score, type);
    Value start = cast<LinalgOp>(product).getDpsInits()[0];
    if (!getZeroFilled(start)) {
      FailureOr<Value> first = read(start, map);
      if (failed(first))
        return failure();
      value = Value(arith::AddFOp::create(builder, loc, *first, *value));
    }
  } else if (auto reshaped = lookThroughUnitReshape({tensor, map})) {
    if (dependsOn(tensor, product))
      path.insert(tensor.getDefiningOp());
    value = read(reshaped->source, reshaped->map);
  } else if (kernel && isInlinableKernel(kernel) &&
             (dependsOn(tensor, product) || shouldInline(tensor))) {
    value = inlineKernel(result, map);
  } else {
    value = readOperand(tensor, map);
  }
  if (succeeded(value))
    known[{tensor, map}] = *value;
  return value;
}

/// The scalars of a kernel's body, inlined as far as something asks for them.
class ScoreBody::InlinedKernel {
public:
  /// For the element of `result` at `map` of the indices.
  InlinedKernel(ScoreBody &body, OpResult result, AffineMap map)
      : body(body), op(cast<LinalgOp>(result.getOwner())) {
    OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
    loops = inversePermutation(op.getMatchingIndexingMap(init)).compose(map);
    yielded =
        op.getBlock()->getTerminator()->getOperand(result.getResultNumber());
  }

  Value getYielded() const { return yielded; }
  AffineMap getMap(OpOperand *operand) {
    return op.getMatchingIndexingMap(operand).compose(loops);
  }

  FailureOr<Value> get(Value root) {
    bool failed = false;
    auto isToInline = [&](Value scalar) {
      return scalar.getParentBlock() == op.getBlock() &&
             !mapping.contains(scalar);
    };
    walkSources(
        root,
        [&](Value scalar, SmallVectorImpl<Value> &sources) {
          if (Operation *inner = scalar.getDefiningOp();
              inner && isToInline(scalar))
            llvm::append_range(sources, inner->getOperands());
        },
        [&](Value scalar) {
          if (!failed && isToInline(scalar))
            failed = mlir::failed(inlineOne(scalar));
        });
    if (failed)
      return failure();
    return mapping.lookupOrDefault(root);
  }

private:
  LogicalResult inlineOne(Value scalar) {
    FailureOr<Value> value = failure();
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      OpOperand *operand = op.getMatchingOpOperand(argument);
      value = isa<RankedTensorType>(operand->get().getType())
                  ? body.read(operand->get(), getMap(operand))
                  : FailureOr<Value>(operand->get());
    } else if (auto index = scalar.getDefiningOp<linalg::IndexOp>()) {
      value = body.indexAt(loops.getResult(index.getDim()));
    } else {
      body.builder.clone(*scalar.getDefiningOp(), mapping);
      return success();
    }
    if (succeeded(value))
      mapping.map(scalar, *value);
    return value;
  }

  ScoreBody &body;
  LinalgOp op;
  AffineMap loops;
  Value yielded;
  IRMapping mapping;
};

FailureOr<Value> ScoreBody::inlineKernel(OpResult result, AffineMap map) {
  if (dependsOn(result, product))
    path.insert(result.getOwner());
  InlinedKernel kernel(*this, result, map);
  return kernel.get(kernel.getYielded());
}

FailureOr<Value> ScoreBody::buildModifiedScore() {
  FailureOr<Value> value =
      read(softmax.getInput(),
           AffineMap::getMultiDimIdentityMap(rank, builder.getContext()));
  if (failed(value))
    return failure();
  return convert(*value, block->getArgument(rank).getType());
}

FailureOr<SmallVector<Value>> ScoreBody::inlineBody(AttentionOp op,
                                                    ArrayRef<AffineMap> maps) {
  IRMapping mapping;
  Block &body = op.getBody().front();
  mapping.map(body.getArguments().take_front(rank + 1), block->getArguments());
  for (auto [argument, operand, map] :
       llvm::zip_equal(body.getArguments().drop_front(rank + 1),
                       op.getScoreOperands(), maps)) {
    FailureOr<Value> element = read(operand, map);
    if (failed(element))
      return failure();
    mapping.map(argument, *element);
  }
  for (Operation &scalar : body.without_terminator())
    builder.clone(scalar, mapping);
  return llvm::map_to_vector(op.getYielded(), [&](Value value) {
    return mapping.lookupOrDefault(value);
  });
}

/// The factor after `scalar`, which reads a probability times `factor` (null:
/// 1) at `operand`. Fails if that is not a product with a probability any more.
FailureOr<Value>
ScoreBody::multiplyFactor(Operation *scalar, OpOperand &operand, Value factor,
                          function_ref<FailureOr<Value>(Value)> get) {
  Type type = operand.get().getType();
  unsigned number = operand.getOperandNumber();
  auto orOne = [&]() -> Value {
    return factor ? factor
                  : arith::ConstantOp::create(builder, loc,
                                              builder.getFloatAttr(type, 1.0));
  };
  if (isa<arith::ExtFOp, arith::TruncFOp>(scalar))
    return factor ? convert(factor, scalar->getResult(0).getType()) : Value();
  if (isa<arith::MulFOp>(scalar)) {
    FailureOr<Value> other = get(scalar->getOperand(1 - number));
    if (failed(other) || !factor)
      return other;
    return Value(arith::MulFOp::create(builder, loc, factor, *other));
  }
  if (isa<arith::DivFOp>(scalar) && number == 0) {
    FailureOr<Value> other = get(scalar->getOperand(1));
    if (failed(other))
      return failure();
    return Value(arith::DivFOp::create(builder, loc, orOne(), *other));
  }
  auto select = dyn_cast<arith::SelectOp>(scalar);
  if (!select || number == 0 ||
      !matchPattern(select->getOperand(3 - number), m_AnyZeroFloat()))
    return failure();
  FailureOr<Value> condition = get(select.getCondition());
  if (failed(condition))
    return failure();
  Value one = orOne();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  return Value(arith::SelectOp::create(builder, loc, *condition,
                                       number == 1 ? one : zero,
                                       number == 1 ? zero : one));
}

/// Returns true if `map` is the identity on a tensor of `type`, dimensions of
/// size 1 aside.
static bool isInPlace(AffineMap map, RankedTensorType type) {
  return llvm::all_of(llvm::enumerate(map.getResults()), [&](auto it) {
    auto dim = dyn_cast<AffineDimExpr>(it.value());
    return dim ? dim.getPosition() == it.index()
               : type.getDimSize(it.index()) == 1;
  });
}

FailureOr<Value> ScoreBody::buildFactor(Value probabilities, AffineMap map) {
  auto result = dyn_cast<OpResult>(probabilities);
  if (!result)
    return failure();
  if (result.getOwner() == softmax)
    return isInPlace(map, cast<RankedTensorType>(result.getType()))
               ? FailureOr<Value>(Value())
               : FailureOr<Value>(failure());
  if (!dependsOn(result, softmax))
    return failure();
  if (auto reshaped = lookThroughUnitReshape({probabilities, map})) {
    path.insert(result.getOwner());
    return buildFactor(reshaped->source, reshaped->map);
  }
  auto op = cast<LinalgOp>(result.getOwner());
  path.insert(op);
  InlinedKernel kernel(*this, result, map);
  // One operand has the probabilities.
  OpOperand *from = nullptr;
  for (OpOperand *input : op.getDpsInputOperands())
    if (dependsOn(input->get(), softmax)) {
      if (from)
        return failure();
      from = input;
    }
  FailureOr<Value> factor = buildFactor(from->get(), kernel.getMap(from));
  if (failed(factor))
    return failure();
  Value current = op.getMatchingBlockArgument(from);
  while (current != kernel.getYielded()) {
    if (!current.hasOneUse())
      return failure();
    OpOperand &use = *current.use_begin();
    factor = multiplyFactor(use.getOwner(), use, *factor,
                            [&](Value scalar) { return kernel.get(scalar); });
    if (failed(factor))
      return failure();
    current = use.getOwner()->getResult(0);
  }
  return factor;
}

/// Arithmetic on narrower floats becomes that on `type`, of their values.
void ScoreBody::widen(Type type) {
  auto isNarrow = [&](Type other) {
    return isa<FloatType>(other) &&
           other.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
  };
  DenseMap<Value, Value> wide;
  auto getWide = [&](Value value) -> Value {
    auto [entry, isNew] = wide.try_emplace(value);
    if (isNew) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(value);
      entry->second = arith::ExtFOp::create(builder, loc, type, value);
    }
    return entry->second;
  };
  for (Operation &op : llvm::make_early_inc_range(*block)) {
    builder.setInsertionPoint(&op);
    if (isa<arith::ExtFOp>(op) && op.getResult(0).getType() == type &&
        isNarrow(op.getOperand(0).getType())) {
      op.getResult(0).replaceAllUsesWith(getWide(op.getOperand(0)));
    } else if (isa<arith::TruncFOp>(op) && op.getOperand(0).getType() == type) {
      wide[op.getResult(0)] = op.getOperand(0);
    } else if (op.getNumResults() == 1 && op.getNumRegions() == 0 &&
               isNarrow(op.getResult(0).getType()) &&
               OpTrait::hasElementwiseMappableTraits(&op) &&
               !isa<CastOpInterface>(op)) {
      SmallVector<Value> operands =
          llvm::map_to_vector(op.getOperands(), [&](Value operand) {
            return isNarrow(operand.getType()) ? getWide(operand) : operand;
          });
      OperationState state(loc, op.getName(), operands, {type}, op.getAttrs());
      state.propertiesAttr = op.getPropertiesAsAttribute();
      wide[op.getResult(0)] = builder.create(state)->getResult(0);
    }
  }
  // Erases narrow operations and conversions that have lost their uses.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

Block *ScoreBody::finish(Value score, Value factor, ArrayRef<unsigned> kept,
                         bool widens) {
  SmallVector<Value> yielded{score};
  if (factor)
    yielded.push_back(convert(factor, score.getType()));
  YieldOp::create(builder, loc, yielded);
  if (widens)
    widen(score.getType());
  builder.setInsertionPointToStart(block);
  for (unsigned dim = rank; dim-- > 0;) {
    if (llvm::is_contained(kept, dim))
      continue;
    BlockArgument index = block->getArgument(dim);
    if (!index.use_empty())
      index.replaceAllUsesWith(
          arith::ConstantIndexOp::create(builder, loc, 0).getResult());
    block->eraseArgument(dim);
  }
  return std::exchange(block, nullptr);
}
