//===- RowShapes.cpp - Where the rows of tensors are ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowShapes.h"
#include "remat/Transforms/Match/Copies.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

RowShape mlir::remat::makeRowDims(ArrayRef<int64_t> sizes) {
  RowShape dims(sizes.size());
  int64_t stride = 1;
  for (auto [dim, size] : llvm::reverse(llvm::zip_equal(dims, sizes))) {
    if (size != 1)
      dim = {stride * size, stride};
    stride *= size;
  }
  return dims;
}

bool mlir::remat::hasRows(ArrayRef<RowDim> shape) {
  return llvm::any_of(shape, [](RowDim dim) { return dim.isRow(); });
}

int64_t mlir::remat::countColumns(Value tensor, ArrayRef<RowDim> shape) {
  SmallVector<int64_t> columns;
  for (auto [dim, size] : llvm::zip_equal(
           shape, cast<RankedTensorType>(tensor.getType()).getShape()))
    if (!dim.isRow())
      columns.push_back(size);
  return multiplySizes(columns);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// Collects what is known of each loop; fails where two things are.
class LoopDims {
public:
  explicit LoopDims(unsigned numLoops) : dims(numLoops) {}

  LogicalResult add(AffineMap map, ArrayRef<RowDim> shape) {
    for (auto [expr, dim] : llvm::zip_equal(map.getResults(), shape))
      if (failed(add(expr, dim)))
        return failure();
    return success();
  }
  LogicalResult add(AffineExpr expr, RowDim dim) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop)
      return failure(dim.isRow());
    std::optional<RowDim> &known = dims[loop.getPosition()];
    if (known && !(*known == dim))
      return failure();
    known = dim;
    return success();
  }
  /// Fails if two loops go over the same rows: the body sees pairs of rows.
  FailureOr<RowShape> get() const {
    RowShape loops;
    for (const std::optional<RowDim> &known : dims) {
      RowDim dim = known.value_or(RowDim());
      if (llvm::any_of(loops, [&](RowDim other) {
            return std::max(dim.inner, other.inner) <
                   std::min(dim.outer, other.outer);
          }))
        return failure();
      loops.push_back(dim);
    }
    return loops;
  }

private:
  SmallVector<std::optional<RowDim>> dims;
};
} // namespace

/// The dimensions of what `map` selects from `loops`; failure if it computes
/// with rows.
static FailureOr<RowShape> select(AffineMap map, ArrayRef<RowDim> loops) {
  RowShape shape;
  for (AffineExpr expr : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    shape.push_back(loop ? loops[loop.getPosition()] : RowDim());
    for (auto [position, dim] : llvm::enumerate(loops))
      if (!loop && dim.isRow() && expr.isFunctionOfDim(position))
        return failure();
  }
  return shape;
}

FailureOr<RowShape> RowShapes::getLoops(LinalgOp op) const {
  LoopDims dims(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands())
    if (const RowShape *shape = get(operand.get()))
      if (failed(dims.add(op.getMatchingIndexingMap(&operand), *shape)))
        return failure();
  for (OpResult result : op->getResults())
    if (const RowShape *shape = get(result))
      if (failed(dims.add(op.getMatchingIndexingMap(
                              op.getDpsInitOperand(result.getResultNumber())),
                          *shape)))
        return failure();
  // Elements that the body extracts from a tensor have to be in the same row.
  WalkResult found = op->walk([&](Operation *scalar) {
    for (OpOperand &operand : scalar->getOpOperands()) {
      const RowShape *shape = get(operand.get());
      if (!shape || scalar == op)
        continue;
      auto extract = dyn_cast<tensor::ExtractOp>(scalar);
      if (!extract)
        return WalkResult::interrupt();
      for (auto [index, dim] : llvm::zip_equal(extract.getIndices(), *shape)) {
        if (!dim.isRow())
          continue;
        auto loop = index.getDefiningOp<linalg::IndexOp>();
        if (!loop ||
            failed(dims.add(getAffineDimExpr(loop.getDim(), op->getContext()),
                            dim)))
          return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return failure();
  return dims.get();
}

/// Returns true if the loops over rows are parallel.
static bool isParallelOverRows(LinalgOp op, ArrayRef<RowDim> loops) {
  return llvm::all_of(
      llvm::zip_equal(op.getIteratorTypesArray(), loops), [](auto pair) {
        return std::get<0>(pair) == utils::IteratorType::parallel ||
               !std::get<1>(pair).isRow();
      });
}

bool mlir::remat::isSumOverRows(LinalgOp op, ArrayRef<RowDim> loops) {
  auto kernel = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!kernel || kernel.getNumResults() != 1)
    return false;
  OpOperand *init = kernel.getDpsInitOperand(0);
  AffineMap map = kernel.getMatchingIndexingMap(init);
  auto type = cast<RankedTensorType>(init->get().getType());
  for (auto [loop, kind] :
       llvm::zip_equal(loops, kernel.getIteratorTypesArray()))
    if (loop.isRow() && kind != utils::IteratorType::reduction)
      return false;
  Value sum = kernel.getMatchingBlockArgument(init);
  auto add = kernel.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  return type.getNumElements() == 1 && map.isConstant() && add &&
         sum.hasOneUse() && llvm::is_contained(add->getOperands(), sum);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The one dimension that the dimensions of a group are together; failure if
/// there is none.
static FailureOr<RowDim> join(ArrayRef<RowDim> group) {
  RowDim joined;
  bool hasColumns = false;
  for (RowDim dim : group) {
    if (!dim.isRow()) {
      hasColumns = true;
    } else if (!joined.isRow()) {
      joined = dim;
    } else if (joined.inner == dim.outer) {
      joined.inner = dim.inner;
    } else {
      return failure();
    }
  }
  // Columns of size 1 say nothing, but others are no rows.
  if (joined.isRow() && hasColumns)
    return failure();
  return joined;
}

/// The dimensions of these sizes that are `dim` together.
static RowShape split(RowDim dim, ArrayRef<int64_t> sizes) {
  RowShape dims = makeRowDims(sizes);
  for (RowDim &part : dims)
    part = dim.isRow() && part.isRow()
               ? RowDim{part.outer * dim.inner, part.inner * dim.inner}
               : RowDim();
  return dims;
}

/// From the larger rank to the smaller one.
static FailureOr<RowShape> collapse(ArrayRef<RowDim> shape,
                                    ArrayRef<int64_t> sizes,
                                    ArrayRef<ReassociationIndices> groups) {
  RowShape collapsed;
  for (const ReassociationIndices &group : groups) {
    RowShape dims;
    for (int64_t dim : group)
      if (sizes[dim] != 1)
        dims.push_back(shape[dim]);
    FailureOr<RowDim> joined = join(dims);
    if (failed(joined))
      return failure();
    collapsed.push_back(*joined);
  }
  return collapsed;
}

/// From the smaller rank to the larger one.
static RowShape expand(ArrayRef<RowDim> shape, ArrayRef<int64_t> sizes,
                       ArrayRef<ReassociationIndices> groups) {
  // From no dimension come only some of size 1.
  if (groups.empty())
    return RowShape(sizes.size());
  RowShape expanded;
  for (auto [dim, group] : llvm::zip_equal(shape, groups)) {
    auto parts =
        llvm::map_to_vector(group, [&](int64_t i) { return sizes[i]; });
    expanded.append(split(dim, parts));
  }
  return expanded;
}

/// Returns the dimensions after (or, if `backwards`, before) a reshape.
static FailureOr<RowShape> reshape(Operation *op, ArrayRef<RowDim> shape,
                                   bool backwards) {
  if (auto collapsing = dyn_cast<tensor::CollapseShapeOp>(op)) {
    ArrayRef<int64_t> sizes = collapsing.getSrcType().getShape();
    auto groups = collapsing.getReassociationIndices();
    return backwards ? FailureOr<RowShape>(expand(shape, sizes, groups))
                     : collapse(shape, sizes, groups);
  }
  auto expanding = cast<tensor::ExpandShapeOp>(op);
  ArrayRef<int64_t> sizes = expanding.getResultType().getShape();
  auto groups = expanding.getReassociationIndices();
  return backwards ? collapse(shape, sizes, groups)
                   : FailureOr<RowShape>(expand(shape, sizes, groups));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Returns true if `op`, which is no kernel, computes each element of its
/// results from the same elements of its operands.
static bool keepsShape(Operation *op) {
  return isElementwiseOnTensors(op) || isa<StopGradientOp>(op);
}

/// Returns true if `slice` has all rows of a source of this shape.
static bool keepsRows(tensor::ExtractSliceOp slice, ArrayRef<RowDim> shape) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  auto type = slice.getSourceType();
  for (auto [i, dim] : llvm::enumerate(shape))
    if (dim.isRow() && (dropped[i] || slice.getStaticOffset(i) != 0 ||
                        slice.getStaticSize(i) != type.getDimSize(i) ||
                        slice.getStaticStride(i) != 1))
      return false;
  return slice.getType().hasStaticShape();
}

LogicalResult RowShapes::inferResults(Operation *op, std::string &reason) {
  auto fail = [&](const Twine &text) {
    reason = text.str();
    return failure();
  };
  auto setAll = [&](const RowShape &shape) {
    for (Value result : op->getResults())
      set(result, shape);
    return success();
  };
  if (auto kernel = dyn_cast<LinalgOp>(op)) {
    if (!kernel.hasPureTensorSemantics() || kernel.hasDynamicShape())
      return fail("a kernel of sizes that are not known reads them");
    FailureOr<RowShape> loops = getLoops(kernel);
    if (failed(loops))
      return fail("a kernel reads several rows at once");
    if (!isParallelOverRows(kernel, *loops))
      return fail("a kernel combines rows");
    for (OpOperand &operand : op->getOpOperands())
      if (failed(select(kernel.getMatchingIndexingMap(&operand), *loops)))
        return fail("a kernel reads several rows at once");
    for (OpResult result : op->getResults()) {
      AffineMap map = kernel.getMatchingIndexingMap(
          kernel.getDpsInitOperand(result.getResultNumber()));
      if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
        return fail("a kernel writes elsewhere than it reads");
      set(result, *select(map, *loops));
    }
    return success();
  }
  if (op->hasTrait<OpTrait::IsTerminator>())
    return fail("they are results");
  const RowShape *first = nullptr;
  for (Value operand : op->getOperands()) {
    const RowShape *shape = get(operand);
    if (first && shape && !(*first == *shape))
      return fail("an operation reads several rows at once");
    first = shape ? shape : first;
  }
  if (!first)
    return fail("a region of operations reads them");
  RowShape shape = *first;
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
    if (shape[softmax.getDimension()].isRow())
      return fail("a softmax combines rows");
    return setAll(shape);
  }
  if (isTensorReshape(op)) {
    FailureOr<RowShape> reshaped = reshape(op, shape, /*backwards=*/false);
    if (failed(reshaped))
      return fail("a reshape makes one dimension of rows and columns");
    return setAll(*reshaped);
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (!keepsRows(slice, shape))
      return fail("a slice takes some of the rows");
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    RowShape kept;
    for (auto [i, dim] : llvm::enumerate(shape))
      if (!dropped[i])
        kept.push_back(dim);
    return setAll(kept);
  }
  if (keepsShape(op))
    return setAll(shape);
  return fail("'" + op->getName().getStringRef() + "' reads them");
}

bool RowShapes::canComputeByRows(Operation *op) const {
  if (!isMemoryEffectFree(op) || op->getNumResults() != 1 ||
      !get(op->getResult(0)))
    return false;
  if (auto kernel = dyn_cast<LinalgOp>(op)) {
    if (!kernel.hasPureTensorSemantics() || kernel.hasDynamicShape() ||
        !kernel.getIndexingMapsArray().back().isProjectedPermutation(
            /*allowZeroInResults=*/true))
      return false;
    FailureOr<RowShape> loops = getLoops(kernel);
    return succeeded(loops) && isParallelOverRows(kernel, *loops) &&
           llvm::all_of(kernel.getIndexingMapsArray(), [&](AffineMap map) {
             return succeeded(select(map, *loops));
           });
  }
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    return !(*get(op->getResult(0)))[softmax.getDimension()].isRow();
  if (isTensorReshape(op))
    return succeeded(reshape(op, *get(op->getResult(0)), /*backwards=*/true));
  return isa<tensor::EmptyOp>(op) || keepsShape(op);
}

FailureOr<RowShape> RowShapes::getRead(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return RowShape();
  if (const RowShape *shape = get(operand.get()))
    return *shape;
  if (auto kernel = dyn_cast<LinalgOp>(op)) {
    FailureOr<RowShape> loops = getLoops(kernel);
    if (failed(loops))
      return failure();
    return select(kernel.getMatchingIndexingMap(&operand), *loops);
  }
  const RowShape *result = get(op->getResult(0));
  if (result && isTensorReshape(op))
    return reshape(op, *result, /*backwards=*/true);
  if (result && (keepsShape(op) || isa<linalg::SoftmaxOp>(op)))
    return *result;
  return RowShape(type.getRank());
}

FailureOr<RowShape> RowShapes::getPicked(tensor::ExtractOp extract) const {
  auto kernel = extract->getParentOfType<LinalgOp>();
  if (!kernel)
    return failure();
  FailureOr<RowShape> loops = getLoops(kernel);
  if (failed(loops))
    return failure();
  RowShape shape(extract.getIndices().size());
  for (auto [dim, index, size] :
       llvm::zip_equal(shape, extract.getIndices(),
                       extract.getTensor().getType().getShape()))
    if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
      RowDim row = (*loops)[loop.getDim()];
      if (row.isRow() && row.getSize() == size)
        dim = row;
    }
  return shape;
}
