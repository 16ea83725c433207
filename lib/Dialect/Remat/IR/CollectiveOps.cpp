//===- CollectiveOps.cpp - Exchanges between ranks ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What collectives check and touch. On tensors they are pure: all ranks run one
// program, so all of them merge, hoist and erase the same ones.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

//===----------------------------------------------------------------------===//
// remat.rank
//===----------------------------------------------------------------------===//

OpFoldResult RankOp::fold(FoldAdaptor) {
  return getSize() == 1 ? IntegerAttr::get(getType(), 0) : OpFoldResult();
}

void RankOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                               SetIntRangeFn setRange) {
  unsigned width = IndexType::kInternalStorageBitWidth;
  setRange(getCoordinate(),
           ConstantIntRanges::fromUnsigned(APInt::getZero(width),
                                           APInt(width, getSize() - 1)));
}

//===----------------------------------------------------------------------===//
// Both collectives
//===----------------------------------------------------------------------===//

static void addEffects(DestinationStyleOpInterface op, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

void AllReduceOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void AllGatherOp::getEffects(Effects &effects) { addEffects(*this, effects); }

Speculation::Speculatability AllReduceOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}

Speculation::Speculatability AllGatherOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}

template <typename OpT> static LogicalResult verifyDestination(OpT op) {
  if (!op.hasPureTensorSemantics() && !op.hasPureBufferSemantics())
    return op.emitOpError() << "must have operands that are all tensors, or "
                               "all memrefs";
  Type init = op.getInit().getType();
  if (op.hasPureBufferSemantics())
    return op.getResult() ? op.emitOpError()
                                << "writes to a memref, and must not return a "
                                   "result"
                          : success();
  if (!op.getResult())
    return op.emitOpError()
           << "returns nothing, but must return the type of its outs, " << init;
  if (op.getResult().getType() != init)
    return op.emitOpError()
           << "returns " << op.getResult().getType()
           << ", but must return the type of its outs, " << init;
  return success();
}

static bool isExchanged(Type element) {
  return element.isF16() || element.isBF16() || element.isF32() ||
         element.isF64() || element.isSignlessInteger(1) ||
         element.isSignlessInteger(8) || element.isSignlessInteger(16) ||
         element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

static LogicalResult verifyElement(Operation *op, Type element) {
  if (isExchanged(element))
    return success();
  return op->emitOpError()
         << "exchanges elements of type " << element
         << "; they must be f16, bf16, f32, f64, i1, i8, i16, i32 or i64";
}

static bool haveSameShape(Value a, Value b) {
  return succeeded(verifyCompatibleShape(a.getType(), b.getType()));
}

/// A collective of one rank and one part is that part.
template <typename OpT>
static LogicalResult foldToInput(OpT op, Value input,
                                 SmallVectorImpl<OpFoldResult> &results) {
  if (op.getSize() != 1 || !op.getResult() ||
      input.getType() != op.getResult().getType())
    return failure();
  results.push_back(input);
  return success();
}

//===----------------------------------------------------------------------===//
// remat.all_reduce
//===----------------------------------------------------------------------===//

static bool isOfFloats(CollectiveKind kind) {
  return llvm::is_contained({CollectiveKind::Maximum, CollectiveKind::Minimum,
                             CollectiveKind::MaxNum, CollectiveKind::MinNum},
                            kind);
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "must have at least one part of this rank";
  if (failed(verifyDestination(*this)))
    return failure();
  Type element = getElementTypeOrSelf(getInit());
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (getElementTypeOrSelf(input) != element ||
        !haveSameShape(input, getInit()))
      return emitOpError() << "has part " << index << " of type "
                           << input.getType()
                           << ", but all parts must have the shape and the "
                              "elements of its outs, "
                           << getInit().getType();
  if (failed(verifyElement(*this, element)))
    return failure();
  bool isOfAll =
      getKind() == CollectiveKind::Sum || getKind() == CollectiveKind::Prod;
  if (!isOfAll && isa<FloatType>(element) != isOfFloats(getKind()))
    return emitOpError() << "of kind " << stringifyCollectiveKind(getKind())
                         << " is of "
                         << (isOfFloats(getKind()) ? "floating-point numbers"
                                                   : "integers")
                         << ", but its elements are " << element;
  return success();
}

LogicalResult AllReduceOp::fold(FoldAdaptor,
                                SmallVectorImpl<OpFoldResult> &results) {
  if (getInputs().size() != 1)
    return failure();
  return foldToInput(*this, getInputs()[0], results);
}

//===----------------------------------------------------------------------===//
// remat.all_gather
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  if (failed(verifyDestination(*this)))
    return failure();
  auto from = cast<ShapedType>(getInput().getType());
  auto to = cast<ShapedType>(getInit().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return emitOpError() << "gathers " << from << " into " << to
                         << "; both must have the same elements and number of "
                            "dimensions";
  if (failed(verifyElement(*this, to.getElementType())))
    return failure();
  int64_t dim = getDim();
  if (dim >= to.getRank())
    return emitOpError() << "gathers along dimension " << dim
                         << ", but its outs have " << to.getRank();
  for (int64_t i = 0; i < to.getRank(); ++i) {
    if (from.isDynamicDim(i) || to.isDynamicDim(i))
      continue;
    int64_t ranks = i == dim ? getSize() : 1, part = from.getDimSize(i);
    if (to.getDimSize(i) % ranks != 0 || to.getDimSize(i) / ranks != part)
      return emitOpError() << "has an input of size " << part
                           << " in dimension " << i << ", and "
                           << to.getDimSize(i) << " in its outs, which must be "
                           << ranks << " times as large";
  }
  return success();
}

LogicalResult AllGatherOp::fold(FoldAdaptor,
                                SmallVectorImpl<OpFoldResult> &results) {
  return foldToInput(*this, getInput(), results);
}
