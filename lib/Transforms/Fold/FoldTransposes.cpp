//===- FoldTransposes.cpp - Transpositions in indexing maps ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters transpose weights and heads into the order that a matmul wants.
// Each transposed copy costs a pass over memory, and is one more residual; a
// product whose maps express the same costs nothing.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Transforms/Fold/Patterns.h"
#include "remat/Transforms/Match/Copies.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "remat/Dialect/Remat/IR/Borders.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool isProductOnTensors(LinalgOp op) {
  return op && op.hasPureTensorSemantics() && op.getNumDpsInputs() == 2 &&
         linalg::isaContractionOpInterface(op);
}

/// Returns true if a kernel with these maps is a product that a library has:
/// each loop is in at least two operands, and no operand has a batch dimension
/// innermost, where matrices must be contiguous.
static bool isLibraryProduct(ArrayRef<AffineMap> maps) {
  SmallVector<unsigned> uses(maps[0].getNumDims(), 0);
  for (AffineMap map : maps) {
    if (!map.isProjectedPermutation())
      return false;
    for (unsigned loop = 0; loop < uses.size(); ++loop)
      uses[loop] += map.isFunctionOfDim(loop);
  }
  return llvm::all_of(uses, [](unsigned count) { return count >= 2; }) &&
         llvm::all_of(maps, [&](AffineMap map) {
           unsigned rank = map.getNumResults();
           return !rank || uses[map.getDimPosition(rank - 1)] < 3;
         });
}

/// Returns true if `operand` is a batch of matrices that was transposed before
/// its batch dimensions were collapsed into one.
static bool isCollapsedTranspose(OpOperand *operand) {
  auto product = dyn_cast<LinalgOp>(operand->getOwner());
  auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
  if (!isProductOnTensors(product) || product.isDpsInit(operand) || !collapse ||
      !getCopied(collapse.getSrc().getDefiningOp<LinalgOp>()))
    return false;
  AffineMap map = product.getMatchingIndexingMap(operand);
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  for (unsigned i = 0; i < groups.size(); ++i) {
    unsigned loop = map.getDimPosition(i);
    bool isBatch =
        llvm::all_of(product.getIndexingMapsArray(), [&](AffineMap other) {
          return other.isFunctionOfDim(loop);
        });
    if (groups[i].size() > 1 && !isBatch)
      return false;
  }
  return true;
}

/// Returns the maps of `product` if it reads the source of a copy by `map` in
/// place of `input`, which is that copy, or nullopt if a library has no such
/// product.
static std::optional<SmallVector<AffineMap>>
getMapsInPlace(LinalgOp product, OpOperand &input, AffineMap map) {
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  AffineMap &read = maps[input.getOperandNumber()];
  read = map.compose(read);
  if (!isLibraryProduct(maps))
    return std::nullopt;
  return maps;
}

/// Returns the permutation by which a slice of the copy by `map` reads a slice
/// of the source: the slices do not have the dimensions that `slice` drops.
static SmallVector<int64_t> getOrderInSlice(tensor::ExtractSliceOp slice,
                                            AffineMap map) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<int64_t> numberInSource(dropped.size(), -1), order;
  int64_t count = 0;
  for (unsigned dim = 0; dim < dropped.size(); ++dim)
    if (!dropped.test(map.getDimPosition(dim)))
      numberInSource[map.getDimPosition(dim)] = count++;
  for (unsigned dim = 0; dim < dropped.size(); ++dim)
    if (!dropped.test(dim))
      order.push_back(numberInSource[dim]);
  return order;
}

/// Returns true if all consumers of `value`, a copy by `map`, also after names
/// and in regions, can read the source of the copy in its place.
static bool isReadInPlace(Value value, AffineMap map) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Value passed =
        isa<NameOp, RegionOp>(use.getOwner()) ? getPassedOn(use) : Value();
    return passed ? isReadInPlace(passed, map) : readsInPlace(use, map);
  });
}

bool mlir::remat::readsInPlace(OpOperand &use, AffineMap map) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner())) {
    if (!map.isPermutation() || slice.getType().getRank() == 0)
      return false;
    AffineMap order = AffineMap::getPermutationMap(getOrderInSlice(slice, map),
                                                   map.getContext());
    return isReadInPlace(slice, inversePermutation(order));
  }
  auto product = dyn_cast<LinalgOp>(use.getOwner());
  return isProductOnTensors(product) && product.isDpsInput(&use) &&
         getMapsInPlace(product, use, map);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

std::optional<Read>
mlir::remat::sliceBeforeTranspose(OpBuilder &builder,
                                  tensor::ExtractSliceOp op) {
  std::optional<Read> copied =
      getCopied(op.getSource().getDefiningOp<LinalgOp>());
  if (!copied || !copied->map.isPermutation() || op.getType().getRank() == 0)
    return std::nullopt;
  auto inSource = [&](ArrayRef<OpFoldResult> ofDims) {
    return llvm::map_to_vector(
        llvm::seq(copied->map.getNumResults()),
        [&](unsigned dim) { return ofDims[copied->map.getDimPosition(dim)]; });
  };
  SmallVector<int64_t> order = getOrderInSlice(op, copied->map);
  SmallVector<int64_t> shape(order.size());
  for (auto [dim, number] : llvm::enumerate(order))
    shape[number] = op.getType().getDimSize(dim);
  auto slice = tensor::ExtractSliceOp::create(
      builder, op.getLoc(), op.getType().clone(shape), copied->source,
      inSource(op.getMixedOffsets()), inSource(op.getMixedSizes()),
      inSource(op.getMixedStrides()));
  return Read{slice, inversePermutation(
                         AffineMap::getPermutationMap(order, op.getContext()))};
}

static linalg::GenericOp createProduct(PatternRewriter &rewriter, LinalgOp op,
                                       ValueRange inputs, Value init,
                                       ArrayRef<AffineMap> maps) {
  auto product =
      linalg::GenericOp::create(rewriter, op.getLoc(), init.getType(), inputs,
                                init, maps, op.getIteratorTypesArray());
  IRMapping mapping;
  op->getRegion(0).cloneInto(&product.getRegion(), mapping);
  copyAttributes(op, product);
  // A `linalg.matvec` keeps its form where the transpose is in another region
  // than the product, and must not add up in another order here.
  keepReductionOrder(op, product);
  return product;
}

namespace {
struct FoldIntoOperand : OpInterfaceRewritePattern<LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (!isProductOnTensors(op))
      return failure();
    for (OpOperand *input : op.getDpsInputOperands()) {
      std::optional<Read> copied =
          getCopied(input->get().getDefiningOp<LinalgOp>());
      if (!copied)
        continue;
      auto maps = getMapsInPlace(op, *input, copied->map);
      if (!maps)
        continue;
      SmallVector<Value> inputs = op.getDpsInputs();
      inputs[input->getOperandNumber()] = copied->source;
      rewriter.replaceOp(
          op, createProduct(rewriter, op, inputs, op.getDpsInits()[0], *maps));
      return success();
    }
    return failure();
  }
};

/// Takes a slice of the transposed tensor's source rather than of the copy,
/// which a loop over slices would keep as a whole.
struct FoldIntoSlice : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Read> copied =
        getCopied(op.getSource().getDefiningOp<LinalgOp>());
    if (!copied || !readsInPlace(op.getSourceMutable(), copied->map))
      return failure();
    Value slice = sliceBeforeTranspose(rewriter, op)->source;
    SmallVector<int64_t> order = getOrderInSlice(op, copied->map);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, op.getLoc(), slice);
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(),
        llvm::map_to_vector(order,
                            [&](int64_t number) { return sizes[number]; }),
        op.getType().getElementType());
    rewriter.replaceOpWithNewOp<linalg::TransposeOp>(op, slice, empty, order);
    return success();
  }
};

/// Lets a product write its result in the order that its consumer wants.
struct FoldIntoResult : OpInterfaceRewritePattern<LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(LinalgOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Read> copied = getCopied(op);
    if (!copied || !copied->map.isPermutation())
      return failure();
    auto product = copied->source.getDefiningOp<LinalgOp>();
    // A product outside of the loop that transposes it would move into it.
    if (!isProductOnTensors(product) || !product->hasOneUse() ||
        product->getBlock() != op->getBlock())
      return failure();
    auto fill = product.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    if (!fill)
      return failure();
    SmallVector<AffineMap> maps = product.getIndexingMapsArray();
    maps.back() = inversePermutation(copied->map).compose(maps.back());
    if (!isLibraryProduct(maps))
      return failure();
    auto init = linalg::FillOp::create(rewriter, fill.getLoc(), fill.value(),
                                       op.getDpsInits()[0]);
    copyAttributes(fill, init);
    rewriter.replaceOp(op,
                       createProduct(rewriter, product, product.getDpsInputs(),
                                     init.getResult(0), maps));
    return success();
  }
};

/// Splits a reshape by way of fewer dimensions that only moves those of size 1
/// into one that drops them and one that adds them.
struct SplitUnitReshape : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || !collapse.getSrcType().hasStaticShape() ||
        !op.getResultType().hasStaticShape() ||
        (isUnitReshape(collapse) && isUnitReshape(op)))
      return failure();
    auto squeeze = [](ArrayRef<int64_t> shape) {
      return SmallVector<int64_t>(llvm::make_filter_range(
          shape, [](int64_t size) { return size != 1; }));
    };
    ArrayRef<int64_t> from = collapse.getSrcType().getShape(),
                      to = op.getResultType().getShape();
    SmallVector<int64_t> squeezed = squeeze(from);
    if (squeezed.empty() || squeezed != squeeze(to))
      return failure();
    auto type =
        RankedTensorType::get(squeezed, op.getResultType().getElementType());
    auto groups = [&](ArrayRef<int64_t> shape) {
      return *getReassociationIndicesForCollapse(shape, squeezed);
    };
    Value small = collapse.getSrc();
    if (from != ArrayRef(squeezed))
      small = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), type,
                                              small, groups(from));
    if (to == ArrayRef(squeezed))
      rewriter.replaceOp(op, small);
    else
      rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, op.getResultType(),
                                                         small, groups(to));
    return success();
  }
};
} // namespace

void mlir::remat::populateSplitUnitReshapePatterns(
    RewritePatternSet &patterns) {
  patterns.add<SplitUnitReshape>(patterns.getContext());
}

void mlir::remat::populateFoldTransposesPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<FoldIntoOperand, FoldIntoResult, FoldIntoSlice>(context);
  populateSplitUnitReshapePatterns(patterns);
  // Restores the batch's own loops, and cleans up after that.
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns,
                                                    isCollapsedTranspose);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
}

LogicalResult mlir::remat::foldTransposes(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  populateFoldTransposesPatterns(patterns);
  return applyPatternsGreedily(root, std::move(patterns));
}
