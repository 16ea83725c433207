//===- ConvOperands.cpp - Operands of linalg's convolutions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConvOperands.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Match/Copies.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;

static bool isStaticButForBatch(RankedTensorType type) {
  return !ShapedType::isDynamicShape(type.getShape().drop_front());
}

bool mlir::remat::isConvForLibrary(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return false;
  auto typeOf = [&](unsigned operand) {
    return cast<RankedTensorType>(op->getOperand(operand).getType());
  };
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return (element.isF32() || element.isF64()) &&
         llvm::all_of(op->getOperandTypes(),
                      [&](Type type) {
                        return getElementTypeOrSelf(type) == element;
                      }) &&
         isStaticButForBatch(typeOf(0)) && typeOf(1).hasStaticShape() &&
         isStaticButForBatch(typeOf(2));
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

static bool hasOneFilterEach(Operation *depthwise) {
  return cast<ShapedType>(depthwise->getOperand(1).getType())
             .getShape()
             .back() == 1;
}

/// Returns the form of a named operation, without its strides and dilations.
static std::optional<ConvForm> getNamedForm(Operation *op) {
  using Found = std::optional<ConvForm>;
  auto ifOneFilterEach = [](Operation *op, ConvForm form) -> Found {
    if (!hasOneFilterEach(op))
      return std::nullopt;
    return form;
  };
  return TypeSwitch<Operation *, Found>(op)
      .Case<linalg::Conv1DNwcWcfOp>(
          [](auto) { return ConvForm{2, false, "023", "123", "023"}; })
      .Case<linalg::Conv1DNcwFcwOp>(
          [](auto) { return ConvForm{2, true, "013", "013", "013"}; })
      .Case<linalg::Conv2DNhwcHwcfOp>(
          [](auto) { return ConvForm{2, false, "0123", "0123", "0123"}; })
      .Case<linalg::Conv2DNchwFchwOp>(
          [](auto) { return ConvForm{2, true, "0123", "0123", "0123"}; })
      .Case<linalg::Conv2DNgchwGfchwOp>(
          [](auto) { return ConvForm{2, true, "01123", "00123", "01123"}; })
      .Case<linalg::Conv3DNdhwcDhwcfOp>(
          [](auto) { return ConvForm{3, false, "01234", "01234", "01234"}; })
      .Case<linalg::Conv3DNcdhwFcdhwOp>(
          [](auto) { return ConvForm{3, true, "01234", "01234", "01234"}; })
      .Case<linalg::DepthwiseConv1DNcwCwOp>(
          [](auto) { return ConvForm{2, true, "013", "03", "013"}; })
      .Case<linalg::DepthwiseConv2DNchwChwOp>(
          [](auto) { return ConvForm{2, true, "0123", "023", "0123"}; })
      .Case<linalg::DepthwiseConv3DNcdhwCdhwOp>(
          [](auto) { return ConvForm{3, true, "01234", "0234", "01234"}; })
      .Case<linalg::DepthwiseConv1DNwcWcOp>(
          [](auto) { return ConvForm{2, false, "023", "13", "023"}; })
      .Case<linalg::DepthwiseConv2DNhwcHwcOp>(
          [](auto) { return ConvForm{2, false, "0123", "013", "0123"}; })
      .Case<linalg::DepthwiseConv3DNdhwcDhwcOp>(
          [](auto) { return ConvForm{3, false, "01234", "0124", "01234"}; })
      .Case<linalg::DepthwiseConv1DNwcWcmOp>([&](auto conv) {
        return ifOneFilterEach(conv, {2, false, "023", "133", "0233"});
      })
      .Case<linalg::DepthwiseConv2DNhwcHwcmOp>([&](auto conv) {
        return ifOneFilterEach(conv, {2, false, "0123", "0133", "01233"});
      })
      .Case<linalg::DepthwiseConv3DNdhwcDhwcmOp>([&](auto conv) {
        return ifOneFilterEach(conv, {3, false, "01234", "01244", "012344"});
      })
      .Default(Found());
}

/// Returns the form of a grouped convolution in three dimensions, for which
/// linalg has no name: images (n, g, c, d, h, w), filters (g, f, c, kd, kh,
/// kw).
static std::optional<ConvForm> getGroupedForm(linalg::GenericOp op) {
  ConvForm form{3, true, "011234", "001234", "011234"};
  if (op.getNumLoops() != 10 || op->hasAttr("remat.conv") || !isDot(op))
    return std::nullopt;
  FailureOr<linalg::ConvolutionDimensions> dims =
      linalg::inferConvolutionDims(op);
  if (failed(dims) || dims->batch.size() != 1 || dims->depth.size() != 1 ||
      dims->outputChannel.size() != 1 || dims->inputChannel.size() != 1 ||
      dims->outputImage.size() != 3 || dims->filterLoop.size() != 3)
    return std::nullopt;
  llvm::append_range(form.strides, dims->strides);
  llvm::append_range(form.dilations, dims->dilations);
  MLIRContext *context = op.getContext();
  auto dim = [&](unsigned position) {
    return getAffineDimExpr(position, context);
  };
  AffineExpr batch = dim(dims->batch[0]), group = dim(dims->depth[0]),
             channel = dim(dims->inputChannel[0]),
             filter = dim(dims->outputChannel[0]);
  SmallVector<AffineExpr> images{batch, group, channel},
      filters{group, filter, channel}, results{batch, group, filter};
  for (unsigned axis = 0; axis < 3; ++axis) {
    AffineExpr output = dim(dims->outputImage[axis]);
    AffineExpr tap = dim(dims->filterLoop[axis]);
    images.push_back(output * form.strides[axis] + tap * form.dilations[axis]);
    filters.push_back(tap);
    results.push_back(output);
  }
  auto mapOf = [&](ArrayRef<AffineExpr> expressions) {
    return simplifyAffineMap(
        AffineMap::get(op.getNumLoops(), 0, expressions, context));
  };
  auto found =
      llvm::map_to_vector(op.getIndexingMapsArray(), simplifyAffineMap);
  if (ArrayRef(found) !=
      ArrayRef({mapOf(images), mapOf(filters), mapOf(results)}))
    return std::nullopt;
  return form;
}

std::optional<ConvForm> mlir::remat::getConvForm(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return getGroupedForm(generic);
  std::optional<ConvForm> form = getNamedForm(op);
  if (!form)
    return std::nullopt;
  for (auto [name, steps] : {std::pair("strides", &form->strides),
                             std::pair("dilations", &form->dilations)}) {
    steps->assign(form->rank, 1);
    if (auto known = op->getAttrOfType<DenseIntElementsAttr>(name))
      llvm::copy(known.getValues<int64_t>(),
                 steps->end() - known.getNumElements());
  }
  return form;
}

/// Returns the groups of source dimensions that become one, and the groups of
/// remat.conv's dimensions that one becomes, of which some are new.
static std::pair<SmallVector<ReassociationIndices>,
                 SmallVector<ReassociationIndices>>
getReassociations(StringRef digits, unsigned rank) {
  SmallVector<ReassociationIndices> merged, split;
  ReassociationIndices leading;
  for (unsigned dim = 0; dim < rank + 2; ++dim) {
    ReassociationIndices sources;
    for (auto [position, digit] : llvm::enumerate(digits))
      if (digit == char('0' + dim))
        sources.push_back(position);
    leading.push_back(dim);
    // A new dimension goes with the next one; the last one is never new.
    if (sources.empty())
      continue;
    merged.push_back(sources);
    split.push_back(leading);
    leading.clear();
  }
  return {merged, split};
}

static RankedTensorType getMergedType(RankedTensorType type,
                                      ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : groups) {
    shape.push_back(1);
    for (int64_t dim : group)
      shape.back() = ShapedType::isDynamic(type.getDimSize(dim))
                         ? ShapedType::kDynamic
                         : shape.back() * type.getDimSize(dim);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

/// Returns `value`, whose dimensions have `digits`, as an operand of a
/// remat.conv with `rank` dimensions in space.
static Value toConvOperand(OpBuilder &builder, Location loc, Value value,
                           StringRef digits, unsigned rank) {
  auto [merged, split] = getReassociations(digits, rank);
  auto type = getMergedType(cast<RankedTensorType>(value.getType()), merged);
  if (merged.size() != digits.size())
    value =
        builder.createOrFold<tensor::CollapseShapeOp>(loc, type, value, merged);
  if (split.size() == rank + 2)
    return value;
  SmallVector<int64_t> shape(rank + 2, 1);
  for (auto [group, size] : llvm::zip_equal(split, type.getShape()))
    shape[group.back()] = size;
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      split);
}

/// The inverse of toConvOperand.
static Value fromConvOperand(OpBuilder &builder, Location loc, Value value,
                             StringRef digits, unsigned rank,
                             RankedTensorType type) {
  auto [merged, split] = getReassociations(digits, rank);
  if (split.size() != rank + 2)
    value = tensor::CollapseShapeOp::create(
        builder, loc, getMergedType(type, merged), value, split);
  if (merged.size() != digits.size())
    value = tensor::ExpandShapeOp::create(builder, loc, type, value, merged);
  return value;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
/// Walks from images to the tensors that they are padded copies of.
struct PaddingTracer {
  const ConvForm &form;
  PaddedImages images;

  PaddingTracer(Value value, const ConvForm &form)
      : form(form), images{value, form.images, {}, {}} {
    images.axes.assign(form.rank, PaddedAxis{1, 1});
    auto type = cast<RankedTensorType>(value.getType());
    for (auto [digit, size] : llvm::zip_equal(form.images, type.getShape()))
      if (auto axis = form.getAxis(digit))
        images.axes[*axis] = {size, size};
  }

  /// Looks through an expansion of channels into groups and their channels.
  bool lookThroughExpansion() {
    auto expand = images.source.getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand)
      return false;
    SmallString<8> digits;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      char digit = images.digits[group.front()];
      for (int64_t dim : group)
        if (images.digits[dim] != digit)
          return false;
      digits.push_back(digit);
    }
    images.source = expand.getSrc();
    images.digits = digits;
    return true;
  }

  /// Looks through zeros on both sides.
  bool lookThroughPad() {
    auto pad = images.source.getDefiningOp<tensor::PadOp>();
    if (!pad || pad.getNofold() || !isStaticButForBatch(pad.getSourceType()))
      return false;
    Value value = pad.getConstantPaddingValue();
    if (!value || !matchPattern(value, m_AnyZeroFloat()))
      return false;
    ArrayRef<int64_t> low = pad.getStaticLow(), high = pad.getStaticHigh();
    for (auto [digit, before, after] :
         llvm::zip_equal(images.digits, low, high)) {
      bool isInSpace = form.getAxis(digit).has_value();
      if ((!isInSpace && (before || after)) || before < 0 || after < 0)
        return false;
    }
    enter(pad, pad.getSource(), low, {});
    return true;
  }

  /// Looks through zeros inserted between elements.
  bool lookThroughInsertion(bool mayStuff) {
    auto insert = images.source.getDefiningOp<tensor::InsertSliceOp>();
    if (!insert || !isZeroFilled(insert.getDest()) ||
        insert.getSourceType().getRank() != insert.getType().getRank() ||
        !isStaticButForBatch(insert.getSourceType()) ||
        !hasStaticPositions(insert) ||
        (!mayStuff && llvm::any_of(insert.getStaticStrides(),
                                   [](int64_t step) { return step != 1; })))
      return false;
    for (auto [dim, digit] : llvm::enumerate(images.digits))
      if (!form.getAxis(digit) &&
          !coversAll(insert, insert.getSource(), insert.getDest(), dim))
        return false;
    enter(insert, insert.getSource(), insert.getStaticOffsets(),
          insert.getStaticStrides());
    return true;
  }

  /// Looks through a slice of the positions.
  bool lookThroughSlice() {
    auto slice = images.source.getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice ||
        slice.getSourceType().getRank() != slice.getType().getRank() ||
        !isStaticButForBatch(slice.getSourceType()) ||
        !hasStaticPositions(slice) ||
        llvm::any_of(slice.getStaticStrides(),
                     [](int64_t step) { return step != 1; }))
      return false;
    for (auto [dim, digit] : llvm::enumerate(images.digits))
      if (!form.getAxis(digit) &&
          !coversAll(slice, slice.getResult(), slice.getSource(), dim))
        return false;
    SmallVector<int64_t> before;
    for (int64_t offset : slice.getStaticOffsets())
      before.push_back(-offset);
    enter(slice, slice.getSource(), before, {});
    return true;
  }

private:
  static bool hasStaticPositions(OffsetSizeAndStrideOpInterface op) {
    return !ShapedType::isDynamicShape(op.getStaticOffsets()) &&
           !ShapedType::isDynamicShape(op.getStaticStrides());
  }

  /// Returns true if `part` is all of `whole` in a dimension.
  static bool coversAll(OffsetSizeAndStrideOpInterface op, Value part,
                        Value whole, int64_t dim) {
    if (op.getStaticOffsets()[dim] != 0 || op.getStaticStrides()[dim] != 1)
      return false;
    auto equal = ValueBoundsConstraintSet::areEqual({part, dim}, {whole, dim});
    return succeeded(equal) && *equal;
  }

  /// Continues with `source`, whose elements lie `steps` apart after `low`.
  void enter(Operation *op, Value source, ArrayRef<int64_t> low,
             ArrayRef<int64_t> steps) {
    images.source = source;
    images.locs.push_back(op->getLoc());
    for (auto [dim, digit] : llvm::enumerate(images.digits))
      if (auto axis = form.getAxis(digit)) {
        PaddedAxis &padded = images.axes[*axis];
        padded.low += low[dim];
        padded.step = steps.empty() ? 1 : steps[dim];
        padded.count = cast<RankedTensorType>(source.getType()).getDimSize(dim);
        images.isStuffed |= padded.step != 1;
      }
    images.isPadded |= !isa<tensor::ExtractSliceOp>(op);
  }
};
} // namespace

PaddedImages mlir::remat::getPaddedImages(Value value, const ConvForm &form,
                                          bool mayStuff) {
  PaddingTracer tracer(value, form);
  PaddedImages found = tracer.images;
  while (!tracer.images.isStuffed) {
    if (!tracer.lookThroughExpansion() && !tracer.lookThroughPad() &&
        !tracer.lookThroughInsertion(mayStuff) &&
        !(mayStuff && tracer.lookThroughSlice()))
      break;
    // Expansions and slices alone gain nothing.
    if (tracer.images.isPadded)
      found = tracer.images;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <typename ConvT>
Value mlir::remat::createConv(OpBuilder &builder, linalg::LinalgOp op,
                              const ConvForm &form, const PaddedImages &images,
                              Value filters, ArrayRef<int64_t> strides,
                              ArrayRef<int64_t> padding) {
  SmallVector<Location> locs(images.locs);
  locs.push_back(op.getLoc());
  Location loc = FusedLoc::get(op.getContext(), locs);
  Value initial = op->getOperand(2);
  auto type = cast<RankedTensorType>(initial.getType());
  auto createEmpty = [&] {
    return tensor::EmptyOp::create(builder, loc,
                                   tensor::getMixedSizes(builder, loc, initial),
                                   type.getElementType());
  };
  auto toOperand = [&](Value value, StringRef digits) {
    return toConvOperand(builder, loc, value, digits, form.rank);
  };
  // The destination is the memory that is filled with zeros, or memory of its
  // own.
  Value zeros = getZeroFilled(initial);
  Value destination = toOperand(zeros ? zeros : createEmpty(), form.results);
  auto conv = ConvT::create(
      builder, loc, destination.getType(),
      toOperand(images.source, images.digits), toOperand(filters, form.filters),
      destination, strides, form.dilations, padding, form.channelsFirst);
  copyAttributes(op, conv);
  Value result = fromConvOperand(builder, loc, conv->getResult(0), form.results,
                                 form.rank, type);
  if (zeros)
    return result;
  // A bias, for example, which fuses with the consumers.
  auto add = linalg::AddOp::create(builder, loc, TypeRange(type),
                                   ValueRange{initial, result},
                                   ValueRange{createEmpty()});
  copyAttributes(op, add);
  return add.getResult(0);
}

template Value mlir::remat::createConv<ConvOp>(OpBuilder &, linalg::LinalgOp,
                                               const ConvForm &,
                                               const PaddedImages &, Value,
                                               ArrayRef<int64_t>,
                                               ArrayRef<int64_t>);
template Value mlir::remat::createConv<ConvBackwardDataOp>(
    OpBuilder &, linalg::LinalgOp, const ConvForm &, const PaddedImages &,
    Value, ArrayRef<int64_t>, ArrayRef<int64_t>);
