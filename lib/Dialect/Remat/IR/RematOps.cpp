//===- RematOps.cpp - Operations of the remat dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Plan/Snapshots.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

#define GET_OP_CLASSES
#include "remat/Dialect/Remat/IR/RematOps.cpp.inc"

//===----------------------------------------------------------------------===//
// NameOp, BarrierOp
//===----------------------------------------------------------------------===//

LogicalResult NameOp::verify() {
  if (getName().empty())
    return emitOpError() << "the name is empty";
  return success();
}

void BarrierOp::build(OpBuilder &builder, OperationState &state,
                      ValueRange values, ValueRange after, bool repeated) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(values.size()),
                                    static_cast<int32_t>(after.size())};
  if (repeated)
    properties.repeated = builder.getUnitAttr();
  state.addOperands(values);
  state.addOperands(after);
  state.addTypes(values.getTypes());
}

ParseResult BarrierOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> values, after;
  SmallVector<Type> valueTypes, afterTypes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(values))
    return failure();
  bool waits = succeeded(parser.parseOptionalKeyword("after"));
  if (waits && parser.parseOperandList(after))
    return failure();
  Properties &properties = result.getOrAddProperties<Properties>();
  if (succeeded(parser.parseOptionalKeyword("repeated")))
    properties.repeated = parser.getBuilder().getUnitAttr();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(valueTypes) ||
      (waits &&
       (parser.parseKeyword("after") || parser.parseTypeList(afterTypes))) ||
      parser.resolveOperands(values, valueTypes, loc, result.operands) ||
      parser.resolveOperands(after, afterTypes, loc, result.operands))
    return failure();
  properties.operandSegmentSizes = {static_cast<int32_t>(values.size()),
                                    static_cast<int32_t>(after.size())};
  result.addTypes(valueTypes);
  return success();
}

void BarrierOp::print(OpAsmPrinter &printer) {
  printer << " " << getValues();
  if (!getAfter().empty())
    printer << " after " << getAfter();
  if (getRepeated())
    printer << " repeated";
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getOperandSegmentSizeAttr(), getRepeatedAttrName()});
  printer << " : " << getValues().getTypes();
  if (!getAfter().empty())
    printer << " after " << getAfter().getTypes();
}

LogicalResult BarrierOp::verify() {
  if (getValues().empty())
    return emitOpError() << "needs at least one value";
  if (getValues().getTypes() != getResults().getTypes())
    return emitOpError()
           << "returns its values unchanged, but the types differ";
  return success();
}

namespace {
/// Drops values whose result has no users, so that they need not be live until
/// there, and passes each of the others once.
struct SlimBarrier : OpRewritePattern<BarrierOp> {
  using OpRewritePattern<BarrierOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(BarrierOp op,
                                PatternRewriter &rewriter) const override {
    SetVector<Value> kept;
    for (auto [value, result] :
         llvm::zip_equal(op.getValues(), op.getResults()))
      if (!result.use_empty())
        kept.insert(value);
    SetVector<Value> after(op.getAfter().begin(), op.getAfter().end());
    if (kept.empty() || (kept.size() == op.getValues().size() &&
                         after.size() == op.getAfter().size()))
      return failure();
    auto slim = BarrierOp::create(rewriter, op.getLoc(), kept.getArrayRef(),
                                  after.getArrayRef(), op.getRepeated());
    slim->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    DenseMap<Value, Value> resultOf;
    for (auto [value, result] :
         llvm::zip_equal(slim.getValues(), slim.getResults()))
      resultOf[value] = result;
    for (auto [value, result] :
         llvm::zip_equal(op.getValues(), op.getResults()))
      if (!result.use_empty())
        rewriter.replaceAllUsesWith(result, resultOf[value]);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void BarrierOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<SlimBarrier>(context);
}

//===----------------------------------------------------------------------===//
// DestinationOp
//===----------------------------------------------------------------------===//

bool mlir::remat::isEmptyTensor(Operation *op) {
  return isa_and_nonnull<tensor::EmptyOp, DestinationOp>(op);
}

LogicalResult DestinationOp::verify() {
  int64_t expected = cast<RankedTensorType>(getType()).getNumDynamicDims();
  if (static_cast<int64_t>(getDynamicSizes().size()) != expected)
    return emitOpError() << "has " << getDynamicSizes().size() << " sizes for "
                         << expected
                         << " dynamic dimensions; give one for each";
  return success();
}

LogicalResult DestinationOp::reifyResultShapes(
    OpBuilder &builder, ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  reifiedReturnShapes.push_back(
      getMixedValues(cast<RankedTensorType>(getType()).getShape(),
                     getDynamicSizes(), builder));
  return success();
}

//===----------------------------------------------------------------------===//
// Tapes
//===----------------------------------------------------------------------===//

/// A tape of values of type T is a tensor of T, or of T's elements with one
/// more leading dimension where T is a tensor.
static LogicalResult verifyTape(Operation *op, RankedTensorType tape,
                                Type value) {
  if (tape.getRank() >= 1) {
    if (auto tensor = dyn_cast<RankedTensorType>(value)) {
      if (tape.getElementType() == tensor.getElementType() &&
          tape.getShape().drop_front() == tensor.getShape())
        return success();
    } else if (tape.getRank() == 1 && tape.getElementType() == value) {
      return success();
    }
  }
  return op->emitOpError() << "a tape of " << value
                           << " has one more leading dimension, got " << tape;
}

LogicalResult TapeWriteOp::verify() {
  return verifyTape(*this, cast<RankedTensorType>(getTape().getType()),
                    getValue().getType());
}

/// Forwards the value just written at this position: an inlined loop of one
/// iteration leaves such a pair.
OpFoldResult TapeReadOp::fold(FoldAdaptor) {
  auto write = getTape().getDefiningOp<TapeWriteOp>();
  if (!write || write.getValue().getType() != getType())
    return {};
  if (write.getIndex() == getIndex())
    return write.getValue();
  std::optional<int64_t> written = getConstantIntValue(write.getIndex());
  std::optional<int64_t> read = getConstantIntValue(getIndex());
  if (written && read && *written == *read)
    return write.getValue();
  return {};
}

LogicalResult TapeReadOp::verify() {
  return verifyTape(*this, cast<RankedTensorType>(getTape().getType()),
                    getValue().getType());
}

//===----------------------------------------------------------------------===//
// Snapshots
//===----------------------------------------------------------------------===//

/// Returns the value of a constant number of iterations or of snapshots.
static std::optional<int64_t> getNumber(Attribute attribute) {
  auto count = dyn_cast_or_null<IntegerAttr>(attribute);
  // The schedule multiplies such numbers.
  if (!count || count.getInt() < -1 || count.getInt() > INT32_MAX)
    return std::nullopt;
  return count.getInt();
}

OpFoldResult NextSnapshotOp::fold(FoldAdaptor adaptor) {
  std::optional<int64_t> from = getNumber(adaptor.getFrom()),
                         end = getNumber(adaptor.getEnd()),
                         free = getNumber(adaptor.getFree());
  if (!from || !end || !free)
    return {};
  return Builder(getContext())
      .getIndexAttr(::remat::plan::getNextSnapshot(*from, *end, *free));
}

LogicalResult LastSnapshotOp::fold(FoldAdaptor adaptor,
                                   SmallVectorImpl<OpFoldResult> &results) {
  std::optional<int64_t> iteration = getNumber(adaptor.getIteration()),
                         count = getNumber(adaptor.getCount()),
                         slots = getNumber(adaptor.getSlots());
  // Of an iteration that there is not, there is no snapshot.
  if (!iteration || !count || !slots || *iteration < 0 ||
      *iteration >= *count || *slots < 1)
    return failure();
  ::remat::plan::Snapshot last =
      ::remat::plan::getLastSnapshot(*iteration, *count, *slots);
  Builder builder(getContext());
  results.append(
      {builder.getIndexAttr(last.iteration), builder.getIndexAttr(last.slot)});
  return success();
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

static LogicalResult verifyRandom(Operation *op, RankedTensorType type,
                                  ValueRange sizes, bool isElementOk,
                                  StringRef elements) {
  if (!isElementOk)
    return op->emitOpError()
           << "draws " << elements << ", not " << type.getElementType();
  if (sizes.size() != static_cast<size_t>(type.getNumDynamicDims()))
    return op->emitOpError()
           << "has " << sizes.size() << " sizes for "
           << type.getNumDynamicDims() << " dynamic dimensions";
  return success();
}

LogicalResult RandomBitsOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  return verifyRandom(*this, type, getSizes(),
                      type.getElementType().isSignlessInteger(8) ||
                          type.getElementType().isSignlessInteger(16) ||
                          type.getElementType().isSignlessInteger(32) ||
                          type.getElementType().isSignlessInteger(64),
                      "i8, i16, i32 or i64");
}

LogicalResult RandomUniformOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!(getLow().convertToDouble() < getHigh().convertToDouble()))
    return emitOpError() << "needs low < high";
  return verifyRandom(*this, type, getSizes(),
                      isa<FloatType>(type.getElementType()),
                      "floating-point numbers");
}

LogicalResult RandomNormalOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!(getStddev().convertToDouble() >= 0))
    return emitOpError() << "needs a standard deviation of at least 0";
  return verifyRandom(*this, type, getSizes(),
                      isa<FloatType>(type.getElementType()),
                      "floating-point numbers");
}

LogicalResult RandomBernoulliOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  double p = getP().convertToDouble();
  if (!(p >= 0 && p <= 1))
    return emitOpError() << "needs a probability between 0 and 1, got " << p;
  return verifyRandom(*this, type, getSizes(),
                      type.getElementType().isSignlessInteger(1), "i1");
}
