//===- AttentionOps.cpp - Attention ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What remat.attention and its backward check and touch.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace mlir::remat;

/// Positions in `indexing_maps`; operands of scores begin at the last one.
enum MapIndex : unsigned { Query, Key, Value_, FirstOperand };

template <typename Op>
static SmallVector<Value> getValuesWithMaps(Op op, Value result) {
  SmallVector<Value> values{op.getQuery(), op.getKey(), op.getValue()};
  llvm::append_range(values, op.getScoreOperands());
  values.push_back(result);
  values.push_back(op.getLogSum());
  return values;
}

SmallVector<Value> AttentionOp::getIndexedValues() {
  return getValuesWithMaps(*this, getInit());
}
SmallVector<Value> AttentionBackwardOp::getIndexedValues() {
  return getValuesWithMaps(*this, getCotangent());
}

MutableOperandRange AttentionOp::getDpsInitsMutable() {
  return {*this, static_cast<unsigned>(3 + getScoreOperands().size()), 2};
}

static AttentionDims findDims(ArrayAttr maps) {
  auto getMap = [&](unsigned index) {
    return cast<AffineMapAttr>(maps[index]).getValue();
  };
  unsigned last = maps.size() - 1;
  AffineMap query = getMap(Query), logSum = getMap(last),
            result = getMap(last - 1);
  AttentionDims dims;
  for (unsigned dim : llvm::seq(logSum.getNumDims()))
    if (logSum.isFunctionOfDim(dim))
      dims.rows.push_back(dim);
    else if (query.isFunctionOfDim(dim))
      dims.depth.push_back(dim);
    else if (result.isFunctionOfDim(dim))
      dims.columns.push_back(dim);
    else
      dims.key = dim;
  return dims;
}

AttentionDims AttentionOp::getDims() { return findDims(getIndexingMaps()); }
AttentionDims AttentionBackwardOp::getDims() {
  return findDims(getIndexingMaps());
}

static void
addEffects(Operation *op, MutableOperandRange inits, bool readsInits,
           SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  auto isInit = [&](OpOperand &operand) {
    return llvm::any_of(inits,
                        [&](OpOperand &init) { return &init == &operand; });
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool written = isInit(operand);
    if (!written || readsInits)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (written)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

void AttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, getDpsInitsMutable(), /*readsInits=*/false, effects);
}
void AttentionBackwardOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, getDpsInitsMutable(), /*readsInits=*/true, effects);
}

Speculation::Speculatability AttentionOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::RecursivelySpeculatable
                                  : Speculation::NotSpeculatable;
}
Speculation::Speculatability AttentionBackwardOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::RecursivelySpeculatable
                                  : Speculation::NotSpeculatable;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Returns true if each loop indexes at most one dimension, and nothing else
/// does but, if allowed, 0.
static bool isProjection(AffineMap map, bool allowsZeros) {
  return map.getNumSymbols() == 0 && map.isProjectedPermutation(allowsZeros);
}

/// Which of the maps have to be functions of each kind of loop.
static LogicalResult verifyLoops(Operation *op, ArrayAttr maps) {
  auto getMap = [&](unsigned index) {
    return cast<AffineMapAttr>(maps[index]).getValue();
  };
  unsigned last = maps.size() - 1;
  unsigned keys = 0;
  for (unsigned dim : llvm::seq(getMap(0).getNumDims())) {
    bool inQuery = getMap(Query).isFunctionOfDim(dim),
         inKey = getMap(Key).isFunctionOfDim(dim),
         inValue = getMap(Value_).isFunctionOfDim(dim),
         inResult = getMap(last - 1).isFunctionOfDim(dim),
         isRow = getMap(last).isFunctionOfDim(dim);
    bool isDepth = inQuery && inKey && !inValue && !inResult;
    bool isColumn = !inQuery && !inKey && inValue && inResult;
    bool isKey = !inQuery && inKey && inValue && !inResult;
    if (isRow ? !inResult : !isDepth && !isColumn && !isKey)
      return op->emitOpError()
             << "has a loop, d" << dim
             << ", that must be one of rows (in the maps of the result and of "
                "log_sum), keys (in those of key and value), depth (in those "
                "of query and key), columns (in those of value and result)";
    keys += !isRow && isKey;
    for (unsigned index : llvm::seq<unsigned>(FirstOperand, last - 1))
      if (!isRow && !isKey && getMap(index).isFunctionOfDim(dim))
        return op->emitOpError()
               << "has an operand of scores, " << index - FirstOperand
               << ", that d" << dim << " indexes, which no score has";
  }
  if (keys != 1)
    return op->emitOpError()
           << "must have one loop over keys, but has " << keys;
  return success();
}

/// Verifies that types, maps and sizes fit together.
static LogicalResult verifyShapes(Operation *op, ArrayAttr maps,
                                  ArrayRef<Value> values,
                                  ArrayRef<Value> others,
                                  ArrayRef<unsigned> mapOfOther) {
  if (maps.size() != values.size())
    return op->emitOpError() << "has " << maps.size()
                             << " indexing maps, but needs " << values.size();
  unsigned loops = cast<AffineMapAttr>(maps[0]).getValue().getNumDims();
  SmallVector<int64_t> sizes(loops, ShapedType::kDynamic);
  auto check = [&](Value value, unsigned index) -> LogicalResult {
    AffineMap map = cast<AffineMapAttr>(maps[index]).getValue();
    auto type = cast<ShapedType>(value.getType());
    bool isOperand = index >= FirstOperand && index + 2 < maps.size();
    if (map.getNumDims() != loops || !isProjection(map, isOperand))
      return op->emitOpError()
             << "has an indexing map, " << AffineMapAttr::get(map)
             << ", that must be a projected "
             << "permutation of " << loops << " loops";
    if (map.getNumResults() != type.getRank())
      return op->emitOpError() << "has an indexing map, "
                               << AffineMapAttr::get(map) << ", that must have "
                               << type.getRank() << " results for " << type;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      int64_t size = type.getDimSize(dim);
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop || ShapedType::isDynamic(size))
        continue;
      int64_t &known = sizes[loop.getPosition()];
      if (!ShapedType::isDynamic(known) && known != size)
        return op->emitOpError()
               << "has a loop, d" << loop.getPosition() << ", of size " << known
               << " by one operand, and " << size << " by " << type;
      known = size;
    }
    return success();
  };
  for (auto [index, value] : llvm::enumerate(values))
    if (failed(check(value, index)))
      return failure();
  for (auto [value, index] : llvm::zip_equal(others, mapOfOther))
    if (failed(check(value, index)))
      return failure();
  return success();
}

/// Element types: query, key and value alike; sums of f32, or f64; `rounded` of
/// either.
static LogicalResult verifyTypes(Operation *op, ArrayRef<Value> factors,
                                 ArrayRef<Value> sums,
                                 ArrayRef<Value> rounded) {
  Type type = getElementTypeOrSelf(factors[0]);
  if (!type.isF16() && !type.isBF16() && !type.isF32() && !type.isF64())
    return op->emitOpError() << "multiplies elements of type " << type
                             << ", but they must be of f16, bf16, f32 or f64";
  for (Value factor : factors)
    if (getElementTypeOrSelf(factor) != type)
      return op->emitOpError()
             << "has " << getElementTypeOrSelf(factor) << " beside " << type
             << "; query, key and value must have one type";
  Type sum = type.isF64() ? type : Float32Type::get(op->getContext());
  for (Value value : sums)
    if (getElementTypeOrSelf(value) != sum)
      return op->emitOpError()
             << "adds up " << getElementTypeOrSelf(value)
             << ", but sums of products of " << type << " must be " << sum;
  for (Value value : rounded)
    if (Type found = getElementTypeOrSelf(value); found != sum && found != type)
      return op->emitOpError()
             << "rounds to " << found << ", but results and gradients of "
             << type << " must be " << type << " or " << sum;
  return success();
}

/// Types of the destinations and results.
static LogicalResult verifyResults(DestinationStyleOpInterface op) {
  if (!op.hasPureTensorSemantics() && !op.hasPureBufferSemantics())
    return op->emitOpError(
        "must have tensors only, or memrefs only, as operands");
  SmallVector<Type> expected;
  if (op.hasPureTensorSemantics())
    llvm::append_range(expected, op.getDpsInits().getTypes());
  if (op->getResultTypes() != TypeRange(expected))
    return op->emitOpError() << "returns (" << op->getResultTypes()
                             << "), but must return (" << expected << ")";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyResults(*this)) ||
      failed(
          verifyShapes(*this, getIndexingMaps(), getIndexedValues(), {}, {})) ||
      failed(verifyLoops(*this, getIndexingMaps())))
    return failure();
  return verifyTypes(*this, {getQuery(), getKey(), getValue()}, {getLogSum()},
                     {getInit()});
}

LogicalResult AttentionBackwardOp::verify() {
  unsigned count = getScoreOperands().size();
  for (int64_t index : getDifferentiated())
    if (index < 0 || index >= count)
      return emitOpError() << "differentiates operand " << index
                           << " of scores, of which there are " << count;
  if (getInits().size() != 3 + getDifferentiated().size())
    return emitOpError() << "has " << getInits().size()
                         << " destinations, but needs "
                         << 3 + getDifferentiated().size()
                         << ", for query, key, value and each operand that is "
                            "differentiated";
  SmallVector<Value> values = getIndexedValues();
  SmallVector<Value> others(getInits());
  SmallVector<unsigned> maps;
  if (getIndexingMaps().size() == values.size())
    for (unsigned index : llvm::seq<unsigned>(others.size()))
      maps.push_back(getMapOfInit(index));
  else
    others.clear();
  others.push_back(getDelta());
  maps.push_back(values.size() - 1);
  if (failed(verifyResults(*this)) ||
      failed(verifyShapes(*this, getIndexingMaps(), values, others, maps)) ||
      failed(verifyLoops(*this, getIndexingMaps())))
    return failure();
  SmallVector<Value> rounded(getInits().take_front(3));
  rounded.push_back(getCotangent());
  return verifyTypes(*this, {getQuery(), getKey(), getValue()},
                     {getLogSum(), getDelta()}, rounded);
}

/// `given`: numbers of the sums' type after the operands; `numYielded` the
/// least and the most that the body yields.
template <typename Op>
static LogicalResult verifyBody(Op op, unsigned numScalars,
                                ArrayRef<Type> yielded, unsigned numOptional) {
  MLIRContext *context = op.getContext();
  FloatType sum = op.getSumType();
  SmallVector<Type> expected(op.getDims().rows.size() + 1,
                             IndexType::get(context));
  expected.push_back(sum);
  for (Value operand : op.getScoreOperands())
    expected.push_back(getElementTypeOrSelf(operand));
  expected.append(numScalars, sum);
  Block &body = op.getBody().front();
  if (body.getArgumentTypes() != TypeRange(expected))
    return op.emitOpError()
           << "has a body with arguments (" << body.getArgumentTypes()
           << "), but it needs (" << expected << ")";
  auto yield = cast<YieldOp>(body.getTerminator());
  TypeRange all(yielded);
  bool fits = yield.getResiduals().empty() &&
              (yield.getOutputs().getTypes() == all ||
               yield.getOutputs().getTypes() == all.drop_back(numOptional));
  if (!fits)
    return yield.emitOpError() << "yields (" << yield.getOperandTypes()
                               << "), but must yield (" << all << ")";
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  FloatType sum = getSumType();
  if (failed(verifyBody(*this, 0, {sum, sum}, /*numOptional=*/1)))
    return failure();
  Operation *factor = getFactor() ? getFactor().getDefiningOp() : nullptr;
  Value score = getBody().getArgument(getDims().rows.size() + 1);
  if (getFactor() == score)
    return emitOpError("yields the score as the factor");
  if (!factor || factor->getBlock() != &getBody().front())
    return success();
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return op->getParentRegion()->findAncestorOpInRegion(*op) != nullptr &&
           getBody().isAncestor(op->getParentRegion());
  };
  SetVector<Operation *> slice;
  if (failed(getBackwardSlice(factor, &slice, options)))
    return success();
  for (Operation *op : slice)
    if (llvm::is_contained(op->getOperands(), score))
      return emitOpError("yields a factor that depends on the score");
  return success();
}

LogicalResult AttentionBackwardOp::verifyRegions() {
  SmallVector<Type> yielded(2, getSumType());
  for (int64_t index : getDifferentiated())
    yielded.push_back(getElementTypeOrSelf(getScoreOperands()[index]));
  return verifyBody(*this, 3, yielded, /*numOptional=*/0);
}
