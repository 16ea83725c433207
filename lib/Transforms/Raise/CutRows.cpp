//===- CutRows.cpp - Fewer rows instead of a slice of them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last position of a sequence has no label: many a loss cuts its logits
// off. Without its row in the product, the others are rows like any.
//===----------------------------------------------------------------------===//

#include "CutRows.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Match/Copies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

namespace {
/// Which indices of a dimension of the rows are read.
struct Cut {
  RowDim dim;
  int64_t offset, size;
};

class RowCutter {
public:
  RowCutter(RewriterBase &rewriter, LinalgOp product, RowShape shape)
      : rewriter(rewriter), product(product) {
    shapes.set(product->getResult(0), std::move(shape));
  }

  /// Finds the slice and what is between it and the product.
  bool find();
  LinalgOp replace();

private:
  bool chooseCuts();
  int64_t getSize(RowDim dim);
  SmallVector<int64_t> getSizes(Value whole, ArrayRef<RowDim> shape);
  Value getOperand(OpOperand &operand);
  Value cut(Value whole, ArrayRef<RowDim> shape);
  void clone(Operation *op);

  RewriterBase &rewriter;
  LinalgOp product;
  RowShapes shapes;
  SmallVector<Operation *> ops;
  tensor::ExtractSliceOp slice;
  SmallVector<Cut> cuts;
  IRMapping parts;
};
} // namespace

bool RowCutter::find() {
  Operation *op = product;
  while (true) {
    ops.push_back(op);
    if (op->getNumResults() != 1 || !op->hasOneUse())
      return false;
    Operation *user = *op->user_begin();
    if (user->getBlock() != product->getBlock())
      return false;
    slice = dyn_cast<tensor::ExtractSliceOp>(user);
    std::string reason;
    bool hasAllRows = succeeded(shapes.inferResults(user, reason));
    if (slice && !hasAllRows)
      return chooseCuts();
    auto kernel = dyn_cast<LinalgOp>(user);
    bool computesElements =
        isParallel(user) && !kernel.hasIndexSemantics() &&
        llvm::hasSingleElement(kernel->getRegions()) &&
        llvm::is_contained(kernel->getOperands(), op->getResult(0));
    if (!hasAllRows || !(computesElements || isTensorReshape(user)))
      return false;
    op = user;
  }
}

/// Each dimension that is sliced has to be one of all tensors in between, or a
/// part of one.
bool RowCutter::chooseCuts() {
  const RowShape &shape = *shapes.get(slice.getSource());
  ArrayRef<int64_t> sizes = slice.getSourceType().getShape();
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (!dim.isRow())
      continue;
    int64_t offset = slice.getStaticOffset(i), size = slice.getStaticSize(i);
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
        slice.getStaticStride(i) != 1)
      return false;
    if (size != sizes[i])
      cuts.push_back({dim, offset, size});
  }
  auto isWithin = [](RowDim inner, RowDim outer) {
    return inner.outer <= outer.outer && inner.inner >= outer.inner &&
           outer.outer % inner.outer == 0 && inner.inner % outer.inner == 0;
  };
  auto areApart = [](RowDim a, RowDim b) {
    return a.outer <= b.inner || b.outer <= a.inner;
  };
  return !cuts.empty() && llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      FailureOr<RowShape> read = shapes.getRead(operand);
      return succeeded(read) && llvm::all_of(*read, [&](RowDim dim) {
               return !dim.isRow() || llvm::all_of(cuts, [&](const Cut &cut) {
                 return isWithin(cut.dim, dim) || areApart(cut.dim, dim);
               });
             });
    });
  });
}

/// Returns the size of a dimension after the cuts.
int64_t RowCutter::getSize(RowDim dim) {
  int64_t size = dim.getSize();
  for (const Cut &cut : cuts)
    if (cut.dim.outer <= dim.outer && cut.dim.inner >= dim.inner)
      size = size / cut.dim.getSize() * cut.size;
  return size;
}

SmallVector<int64_t> RowCutter::getSizes(Value whole, ArrayRef<RowDim> shape) {
  SmallVector<int64_t> sizes(
      cast<RankedTensorType>(whole.getType()).getShape());
  for (auto [size, dim] : llvm::zip_equal(sizes, shape))
    if (dim.isRow())
      size = getSize(dim);
  return sizes;
}

/// Returns the slice of `whole` with the rows that are read. A cut that is a
/// part of a dimension is a dimension of its own while it is sliced.
Value RowCutter::cut(Value whole, ArrayRef<RowDim> shape) {
  Location loc = whole.getLoc();
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> split, left, offsets;
  for (auto [dim, size] : llvm::zip_equal(shape, type.getShape())) {
    ReassociationIndices &group = groups.emplace_back();
    auto add = [&](int64_t part, int64_t leftOfIt, int64_t offset) {
      if (part == 1 && !group.empty())
        return;
      group.push_back(split.size());
      split.push_back(part);
      left.push_back(leftOfIt);
      offsets.push_back(offset);
    };
    int64_t border = dim.outer;
    SmallVector<Cut> inside;
    for (const Cut &cut : cuts)
      if (dim.isRow() && cut.dim.outer <= dim.outer &&
          cut.dim.inner >= dim.inner)
        inside.push_back(cut);
    llvm::sort(inside, [](const Cut &a, const Cut &b) {
      return a.dim.outer > b.dim.outer;
    });
    for (const Cut &cut : inside) {
      if (border != cut.dim.outer)
        add(border / cut.dim.outer, border / cut.dim.outer, 0);
      add(cut.dim.getSize(), cut.size, cut.offset);
      border = cut.dim.inner;
    }
    if (inside.empty())
      add(size, size, 0);
    else if (border != dim.inner)
      add(border / dim.inner, border / dim.inner, 0);
  }
  MLIRContext *context = rewriter.getContext();
  Value value = whole;
  if (split.size() != shape.size())
    value = tensor::ExpandShapeOp::create(rewriter, loc, type.clone(split),
                                          value, groups);
  SmallVector<OpFoldResult> ones(split.size(), rewriter.getIndexAttr(1));
  value = tensor::ExtractSliceOp::create(
      rewriter, loc, type.clone(left), value,
      getAsIndexOpFoldResult(context, offsets),
      getAsIndexOpFoldResult(context, left), ones);
  if (split.size() != shape.size())
    value = tensor::CollapseShapeOp::create(rewriter, loc, value, groups);
  return value;
}

Value RowCutter::getOperand(OpOperand &operand) {
  Value whole = operand.get();
  if (Value part = parts.lookupOrNull(whole))
    return part;
  RowShape shape = *shapes.getRead(operand);
  auto type = dyn_cast<RankedTensorType>(whole.getType());
  if (!type || getSizes(whole, shape) == type.getShape())
    return whole;
  auto createEmpty = [&]() -> Value {
    return tensor::EmptyOp::create(rewriter, whole.getLoc(),
                                   getSizes(whole, shape),
                                   type.getElementType());
  };
  Value part;
  if (whole.getDefiningOp<tensor::EmptyOp>())
    part = createEmpty();
  else if (auto fill = whole.getDefiningOp<linalg::FillOp>())
    part = linalg::FillOp::create(rewriter, whole.getLoc(), fill.getInputs(),
                                  createEmpty())
               .getResult(0);
  else
    part = cut(whole, shape);
  return part;
}

void RowCutter::clone(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType())
                  .clone(getSizes(result, *shapes.get(result)));
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(getOperand(operand));
  if (auto reshape = dyn_cast<tensor::ExpandShapeOp>(op))
    parts.map(result, tensor::ExpandShapeOp::create(
                          rewriter, op->getLoc(), type, operands[0],
                          reshape.getReassociationIndices()));
  else
    parts.map(
        result,
        mlir::clone(rewriter, op, TypeRange(type), operands)->getResult(0));
}

LinalgOp RowCutter::replace() {
  rewriter.setInsertionPoint(slice);
  for (Operation *op : ops)
    clone(op);
  Value part = parts.lookup(slice.getSource());
  // Only rows are cut from the operands; columns are sliced here, as before.
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  for (auto [offset, dim] :
       llvm::zip_equal(offsets, *shapes.get(slice.getSource())))
    if (dim.isRow())
      offset = rewriter.getIndexAttr(0);
  auto rest = tensor::ExtractSliceOp::create(
      rewriter, slice.getLoc(), slice.getType(), part, offsets,
      slice.getMixedSizes(), slice.getMixedStrides());
  bool isWhole = rest.getType() == part.getType();
  rewriter.replaceOp(slice, isWhole ? part : rest.getResult());
  if (isWhole)
    rewriter.eraseOp(rest);
  auto smaller =
      cast<LinalgOp>(parts.lookup(product->getResult(0)).getDefiningOp());
  for (Operation *op : llvm::reverse(ops))
    rewriter.eraseOp(op);
  return smaller;
}

LinalgOp mlir::remat::cutUnreadRows(RewriterBase &rewriter, LinalgOp product,
                                    RowShape shape) {
  RowCutter cutter(rewriter, product, std::move(shape));
  return cutter.find() ? cutter.replace() : LinalgOp();
}
