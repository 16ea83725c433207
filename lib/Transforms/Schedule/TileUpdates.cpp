//===- TileUpdates.cpp - Parts of a gradient that never exists as a whole -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where parameters are most of the memory, the gradient of the largest is most
// of what is left. A product and the update that reads it need only a few rows
// of it at a time, and find them in a cache.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/OldValueReads.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace mlir::remat {
#define GEN_PASS_DEF_TILEUPDATES
#include "remat/Transforms/Schedule/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

namespace {
/// An update and the product that computes its gradient.
struct ProductUpdate {
  LinalgOp update, product;
};

/// How many indices of which dimension of a parameter a tile has.
struct Tile {
  unsigned dim;
  int64_t size;
};
} // namespace

/// Returns true if all of `product` is a product: it adds to zeros.
static bool isProductOfZeros(LinalgOp product) {
  return product && linalg::isaContractionOpInterface(product) &&
         product.hasPureTensorSemantics() && product->hasOneUse() &&
         product.getDpsInits().front().getDefiningOp<linalg::FillOp>();
}

/// Returns true if `update` is elementwise on tensors of one shape.
static bool updatesElements(LinalgOp update) {
  return isPointwise(update) && update.getNumLoops() != 0 &&
         !ShapedType::isDynamicShape(update.getStaticLoopRanges());
}

/// Returns true if `op` adds to a value that a loop carries, as to a sum over
/// micro-batches, and nothing else reads it.
static bool updatesCarried(LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return false;
  auto carried = dyn_cast<BlockArgument>(op.getDpsInits().front());
  auto loop = carried ? dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp())
                      : scf::ForOp();
  return loop && carried != loop.getInductionVar() && carried.hasOneUse() &&
         op->hasOneUse() &&
         loop.getTiedLoopYieldedValue(carried)->get() == op->getResult(0);
}

/// Returns nullopt if `op` is no update, or if the gradient is not computed by
/// a product without other users.
static std::optional<ProductUpdate> getProductUpdate(LinalgOp op) {
  if ((llvm::none_of(op.getDpsInits(), isTrained) && !updatesCarried(op)) ||
      !updatesElements(op))
    return std::nullopt;
  std::optional<ProductUpdate> found;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto product = input->get().getDefiningOp<LinalgOp>();
    if (!isProductOfZeros(product) || product->getBlock() != op->getBlock())
      continue;
    // A number that is broadcast is not the gradient.
    if (!op.getMatchingIndexingMap(input).isIdentity())
      continue;
    if (found)
      return std::nullopt;
    found = ProductUpdate{op, product};
  }
  return found;
}

/// Returns true if less is alive with tiles. With the update, the product waits
/// for the last read of the old parameter: for the product that makes the
/// cotangent of the activation that this one reads, which is as large as that.
/// As a whole, the gradient waits instead, and the activation is gone.
static bool savesBytes(LinalgOp product) {
  int64_t gradient = estimateBytes(product->getResult(0).getType());
  return llvm::any_of(product.getDpsInputs(), [&](Value input) {
    return isa<BlockArgument>(input) ||
           estimateBytes(input.getType()) <= gradient;
  });
}

/// Tiles of at least `bytes` and `length` indices of the longest dimension;
/// none if the gradient has less than two.
static std::optional<Tile> chooseTile(Value gradient, int64_t bytes,
                                      int64_t length) {
  auto type = cast<RankedTensorType>(gradient.getType());
  if (!type.getElementType().isIntOrFloat())
    return std::nullopt;
  unsigned dim = std::distance(type.getShape().begin(),
                               llvm::max_element(type.getShape()));
  int64_t extent = type.getDimSize(dim);
  if (type.getNumElements() == 0)
    return std::nullopt;
  int64_t slice = llvm::divideCeil(estimateBytes(type), extent);
  int64_t size = std::max<int64_t>(length, llvm::divideCeil(bytes, slice));
  if (extent < 2 * size)
    return std::nullopt;
  // As equal as they can be.
  return Tile{dim,
              static_cast<int64_t>(llvm::divideCeil(extent, extent / size))};
}

/// Replaces a slice of the zeros that a product adds to by zeros of that size.
static void replaceZeros(RewriterBase &rewriter, tensor::ExtractSliceOp slice) {
  auto fill = slice.getSource().getDefiningOp<linalg::FillOp>();
  RankedTensorType type = slice.getResultType();
  Location loc = fill.getLoc();
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  auto zeros = linalg::FillOp::create(rewriter, loc, fill.getInputs(), empty);
  rewriter.replaceOp(slice, zeros.getResult(0));
}

/// Updates the elements of `destinations` that begin at `offset` of the tiled
/// dimension, `size` of them. Returns the updated destinations.
static FailureOr<SmallVector<Value>>
updatePart(RewriterBase &rewriter, ProductUpdate pair, Tile tile,
           OpFoldResult offset, int64_t size, ValueRange destinations) {
  Location loc = pair.update.getLoc();
  SmallVector<int64_t> shape = pair.update.getStaticLoopRanges();
  SmallVector<OpFoldResult> offsets(shape.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), shape);
  offsets[tile.dim] = offset;
  sizes[tile.dim] = rewriter.getIndexAttr(size);

  auto whole = cast<LinalgOp>(rewriter.clone(*pair.update));
  whole.getDpsInitsMutable().assign(destinations);
  FailureOr<TilingResult> part =
      cast<TilingInterface>(whole.getOperation())
          .getTiledImplementation(rewriter, offsets, sizes);
  if (failed(part))
    return failure();
  SmallVector<OpFoldResult> strides(shape.size(), rewriter.getIndexAttr(1));
  SmallVector<Value> updated;
  for (auto [value, destination] :
       llvm::zip_equal(part->tiledValues, destinations))
    updated.push_back(tensor::InsertSliceOp::create(
        rewriter, loc, value, destination, offsets, sizes, strides));

  for (Operation *op : part->generatedSlices) {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    if (slice.getSource() != pair.product->getResult(0))
      continue;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(slice);
    FailureOr<TilingResult> product =
        tensor::replaceExtractSliceWithTiledProducer(
            rewriter, slice, pair.product->getResult(0));
    if (failed(product))
      return failure();
    rewriter.replaceOp(slice, product->tiledValues.front());
    for (Operation *operand : product->generatedSlices)
      if (auto zeros = cast<tensor::ExtractSliceOp>(operand);
          zeros.getSource() == pair.product.getDpsInits().front()) {
        rewriter.setInsertionPoint(zeros);
        replaceZeros(rewriter, zeros);
      }
  }
  rewriter.eraseOp(whole);
  return updated;
}

static LogicalResult tileUpdate(RewriterBase &rewriter, ProductUpdate pair,
                                Tile tile) {
  Location loc = pair.update.getLoc();
  int64_t extent = pair.update.getStaticLoopRanges()[tile.dim];
  int64_t end = extent / tile.size * tile.size;
  rewriter.setInsertionPoint(pair.update);
  auto makeIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value lower = makeIndex(0), upper = makeIndex(end),
        step = makeIndex(tile.size);
  LogicalResult tiled = success();
  auto loop = scf::ForOp::create(
      rewriter, loc, lower, upper, step, pair.update.getDpsInits(),
      [&](OpBuilder &, Location, Value offset, ValueRange carried) {
        FailureOr<SmallVector<Value>> updated =
            updatePart(rewriter, pair, tile, offset, tile.size, carried);
        tiled = updated;
        scf::YieldOp::create(
            rewriter, loc, succeeded(updated) ? ValueRange(*updated) : carried);
      });
  SmallVector<Value> results(loop.getResults());
  if (succeeded(tiled) && end != extent) {
    FailureOr<SmallVector<Value>> updated =
        updatePart(rewriter, pair, tile, rewriter.getIndexAttr(end),
                   extent - end, results);
    tiled = updated;
    if (succeeded(updated))
      results = *updated;
  }
  if (failed(tiled))
    return failure();
  rewriter.replaceOp(pair.update, results);
  Operation *unused = pair.product;
  while (unused && unused->use_empty()) {
    auto kernel = dyn_cast<LinalgOp>(unused);
    // Zeros may be written to a barrier's result, which others may share.
    if (!kernel && !isEmptyTensor(unused))
      break;
    Value destination = kernel ? kernel.getDpsInits().front() : Value();
    rewriter.eraseOp(unused);
    unused = destination ? destination.getDefiningOp() : nullptr;
  }
  return success();
}

namespace {
struct TileUpdates : mlir::remat::impl::TileUpdatesBase<TileUpdates> {
  using TileUpdatesBase::TileUpdatesBase;

  void runOnOperation() override {
    if (tileBytes < 0 || tileLength < 1) {
      getOperation()->emitError(
          "tile-bytes must be at least 0, and tile-length "
          "positive, but they are ")
          << tileBytes.getValue() << " and " << tileLength.getValue();
      return signalPassFailure();
    }
    SmallVector<ProductUpdate> pairs;
    getOperation()->walk([&](LinalgOp op) {
      if (std::optional<ProductUpdate> pair = getProductUpdate(op))
        pairs.push_back(*pair);
    });
    bool changed = false;
    for (ProductUpdate pair : pairs) {
      std::optional<Tile> tile =
          chooseTile(pair.product->getResult(0), tileBytes, tileLength);
      if (!tile || !savesBytes(pair.product))
        continue;
      PhaseListener listener(getPhase(pair.update));
      IRRewriter rewriter(&getContext(), &listener);
      if (failed(tileUpdate(rewriter, pair, *tile))) {
        pair.update.emitError("cannot be computed in parts; leave it to a "
                              "larger tile-bytes");
        return signalPassFailure();
      }
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
