//===- TransposedConv.cpp - Convolutions of stuffed images ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends write a transposed convolution as one of stride 1 that reads an
// image with zeros between its elements, with mirrored filters. Most of its
// products are with zeros, and the stuffed image is one more residual. A
// transposed convolution is the cotangent of a convolution's images, and there
// is an operation for that.
//===----------------------------------------------------------------------===//

#include "TransposedConv.h"

#include "ConvOperands.h"
#include "remat/Transforms/Match/Copies.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Mirrored copies
//===----------------------------------------------------------------------===//

/// Returns an index in the body of `op` as a function of the position of the
/// result.
static AffineExpr getExpression(linalg::GenericOp op, Value index) {
  MLIRContext *context = op.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return getAffineConstantExpr(*constant, context);
  if (auto position = index.getDefiningOp<linalg::IndexOp>())
    return getAffineDimExpr(position.getDim(), context);
  auto difference = index.getDefiningOp<arith::SubIOp>();
  if (!difference)
    return {};
  std::optional<int64_t> from = getConstantIntValue(difference.getLhs());
  auto position = difference.getRhs().getDefiningOp<linalg::IndexOp>();
  if (!from || !position)
    return {};
  return *from - getAffineDimExpr(position.getDim(), context);
}

/// Returns true if `map` maps all positions of one shape to all of another, in
/// the order of dimensions that it gives, in some of them from the end.
static bool isMirroring(AffineMap map, ArrayRef<int64_t> from,
                        ArrayRef<int64_t> to) {
  llvm::SmallBitVector isRead(from.size());
  MLIRContext *context = map.getContext();
  for (auto [size, result] : llvm::zip_equal(to, map.getResults())) {
    if (size == 1 && result == getAffineConstantExpr(0, context))
      continue;
    bool isFound = false;
    for (unsigned dim = 0; dim < from.size() && !isFound; ++dim) {
      AffineExpr position = getAffineDimExpr(dim, context);
      isFound = !isRead[dim] && size == from[dim] &&
                (result == position || result == size - 1 - position);
      if (isFound)
        isRead.set(dim);
    }
    if (!isFound)
      return false;
  }
  for (unsigned dim = 0; dim < from.size(); ++dim)
    if (!isRead[dim] && from[dim] != 1)
      return false;
  return true;
}

/// Returns the tensor that the result of `op` is a mirrored copy of, for a
/// kernel that only reads a tensor at computed positions.
static std::optional<Read> getMirrored(linalg::GenericOp op) {
  if (!op || op.getNumDpsInputs() != 0 || op.getNumResults() != 1 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  auto extract = op.getBlock()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<tensor::ExtractOp>();
  if (!extract || extract->getBlock() != op.getBlock())
    return std::nullopt;
  SmallVector<AffineExpr> results;
  for (Value index : extract.getIndices())
    if (AffineExpr result = getExpression(op, index))
      results.push_back(result);
    else
      return std::nullopt;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  auto source = extract.getTensor().getType();
  auto map = AffineMap::get(type.getRank(), 0, results, op.getContext());
  if (!type.hasStaticShape() || !source.hasStaticShape() ||
      !isMirroring(map, type.getShape(), source.getShape()))
    return std::nullopt;
  return Read{extract.getTensor(), map};
}

static Read lookThroughMirrors(Read read) {
  while (true) {
    read = lookThroughCopies(read);
    std::optional<Read> mirrored =
        getMirrored(read.source.getDefiningOp<linalg::GenericOp>());
    if (!mirrored)
      return read;
    // Mirrored twice is not mirrored.
    read = {mirrored->source,
            simplifyAffineMap(mirrored->map.compose(read.map))};
  }
}

/// Returns a tensor of `type` with the elements that `read` reads, copied only
/// if necessary.
static Value materialize(OpBuilder &builder, Location loc, const Read &read,
                         RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  auto source = cast<RankedTensorType>(read.source.getType());
  SmallVector<AffineExpr> inOrder;
  for (auto [dim, size] : llvm::enumerate(shape))
    inOrder.push_back(size == 1 ? builder.getAffineConstantExpr(0)
                                : builder.getAffineDimExpr(dim));
  // A dimension of size 1 has one position, whatever its name.
  SmallVector<AffineExpr> results;
  for (auto [size, result] :
       llvm::zip_equal(source.getShape(), read.map.getResults()))
    results.push_back(size == 1 ? builder.getAffineConstantExpr(0) : result);
  if (source == type && results == inOrder)
    return read.source;
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  bool isMirrored = llvm::any_of(results, [](AffineExpr result) {
    return isa<AffineBinaryOpExpr>(result);
  });
  if (!isMirrored) {
    auto map = AffineMap::get(type.getRank(), 0, results, builder.getContext());
    return linalg::GenericOp::create(
               builder, loc, type, read.source, empty,
               ArrayRef<AffineMap>{map, identity}, loops,
               [](OpBuilder &body, Location loc, ValueRange arguments) {
                 linalg::YieldOp::create(body, loc, arguments.front());
               })
        .getResult(0);
  }
  auto position = [&](OpBuilder &body, AffineExpr result, int64_t size) {
    if (auto constant = dyn_cast<AffineConstantExpr>(result))
      return arith::ConstantIndexOp::create(body, loc, constant.getValue())
          .getResult();
    unsigned dim = 0;
    result.walk([&](AffineExpr inner) {
      if (auto found = dyn_cast<AffineDimExpr>(inner))
        dim = found.getPosition();
    });
    Value index = linalg::IndexOp::create(body, loc, dim);
    if (isa<AffineDimExpr>(result))
      return index;
    Value last = arith::ConstantIndexOp::create(body, loc, size - 1);
    return arith::SubIOp::create(body, loc, last, index).getResult();
  };
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange(), empty, ArrayRef{identity}, loops,
             [&](OpBuilder &body, Location loc, ValueRange) {
               SmallVector<Value> indices;
               for (auto [size, result] :
                    llvm::zip_equal(source.getShape(), results))
                 indices.push_back(position(body, result, size));
               Value element =
                   tensor::ExtractOp::create(body, loc, read.source, indices);
               linalg::YieldOp::create(body, loc, element);
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Returns how the convolution whose images' cotangent is `op` reads the
/// filters of `op`: mirrored in space, with channels and filters exchanged.
static Read readBackward(linalg::LinalgOp op, const ConvForm &form) {
  Value filters = op->getOperand(1);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(filters.getType()).getShape();
  Builder builder(op.getContext());
  SmallVector<AffineExpr> results;
  for (auto [dim, digit] : llvm::enumerate(form.filters)) {
    AffineExpr position = builder.getAffineDimExpr(dim);
    results.push_back(form.getFilterAxis(digit) ? shape[dim] - 1 - position
                                                : position);
  }
  // Groups with one channel and one filter have nothing to exchange.
  size_t filter = form.filters.rfind(form.filter());
  size_t channel = form.filters.find(form.filterChannel());
  if (filter != StringRef::npos && channel != StringRef::npos)
    std::swap(results[filter], results[channel]);
  return {filters, AffineMap::get(shape.size(), 0, results, op.getContext())};
}

static RankedTensorType getReadType(const Read &read) {
  auto type = cast<RankedTensorType>(read.source.getType());
  SmallVector<int64_t> shape(type.getRank());
  for (auto [size, result] :
       llvm::zip_equal(type.getShape(), read.map.getResults()))
    result.walk([&, size = size](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        shape[dim.getPosition()] = size;
    });
  return RankedTensorType::get(shape, type.getElementType());
}

static bool isMirrored(const Read &read) {
  auto type = cast<RankedTensorType>(read.source.getType());
  return llvm::any_of(llvm::zip_equal(type.getShape(), read.map.getResults()),
                      [](auto dim) {
                        return std::get<0>(dim) != 1 &&
                               isa<AffineBinaryOpExpr>(std::get<1>(dim));
                      });
}

Value mlir::remat::raiseTransposedConv(OpBuilder &builder,
                                       linalg::LinalgOp op) {
  std::optional<ConvForm> form = getConvForm(op);
  if (!form || !isConvForLibrary(op))
    return {};
  if (llvm::any_of(form->strides, [](int64_t stride) { return stride != 1; }))
    return {};
  PaddedImages images =
      getPaddedImages(op->getOperand(0), *form, /*mayStuff=*/true);
  if (!images.isPadded)
    return {};
  Read backward = readBackward(op, *form);
  RankedTensorType filterType = getReadType(backward);
  Read filters = lookThroughMirrors(backward);
  // With stride 1 it is a padded convolution as well. The form that reads its
  // filters without a copy is preferred.
  if (!images.isStuffed &&
      (filters.source == op->getOperand(1) || isMirrored(filters)))
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> allTaps(form->rank, 1), allOutputs(form->rank, 1);
  for (auto [digit, size] :
       llvm::zip_equal(form->filters, filterType.getShape()))
    if (auto axis = form->getFilterAxis(digit))
      allTaps[*axis] = size;
  for (auto [digit, size] : llvm::zip_equal(form->results, type.getShape()))
    if (auto axis = form->getAxis(digit))
      allOutputs[*axis] = size;
  SmallVector<int64_t> strides, padding;
  for (auto [padded, taps, outputs, dilation] :
       llvm::zip_equal(images.axes, allTaps, allOutputs, form->dilations)) {
    int64_t span = dilation * (taps - 1) + 1;
    int64_t low = span - 1 - padded.low;
    // Zeros in front that no filter reaches.
    if (low < 0 || taps == 0 || padded.count == 0)
      return {};
    int64_t needed = (padded.count - 1) * padded.step + span;
    strides.push_back(padded.step);
    padding.push_back(low);
    padding.push_back(std::max<int64_t>(0, needed - low - outputs));
  }
  return createConv<ConvBackwardDataOp>(
      builder, op, *form, images,
      materialize(builder, op.getLoc(), filters, filterType), strides, padding);
}
