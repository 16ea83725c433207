//===- TileLossHeads.cpp - Losses of some rows at a time ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The logits of a large vocabulary are the largest tensor of a model, and their
// cotangent is as large. As the rows of a loss are independent of each other,
// both need to exist for some rows at a time only.
//===----------------------------------------------------------------------===//

#include "CutRows.h"
#include "LossHead.h"
#include "Patterns.h"
#include "RowTiler.h"
#include "remat/Transforms/Detach/Maxima.h"
#include "remat/Transforms/Fold/Patterns.h"
#include "remat/Transforms/Match/PlainCopy.h"
#include "remat/Transforms/Raise/Passes.h"
#include "remat/Transforms/Split/Mesh.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_TILELOSSHEADSPASS
#include "remat/Transforms/Raise/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Takes the sum of each row first, then the sum of these.
static void splitSum(RewriterBase &rewriter, linalg::GenericOp op,
                     ArrayRef<RowDim> loops) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  Type element = getElementTypeOrSelf(op.getDpsInits()[0]);
  SmallVector<int64_t> loopSizes = op.getStaticLoopRanges(), sizes;
  SmallVector<AffineExpr> rows;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (auto [loop, dim] : llvm::enumerate(loops))
    if (dim.isRow()) {
      rows.push_back(getAffineDimExpr(loop, context));
      sizes.push_back(loopSizes[loop]);
      kinds[loop] = utils::IteratorType::parallel;
    }
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, element);
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(element));
  Value zeros = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = AffineMap::get(loops.size(), 0, rows, context);
  auto ofRows = linalg::GenericOp::create(
      rewriter, loc, zeros.getType(), op.getDpsInputs(), zeros, maps, kinds);
  rewriter.inlineRegionBefore(op.getRegion(), ofRows.getRegion(),
                              ofRows.getRegion().end());
  SmallVector<utils::IteratorType> reductions(rows.size(),
                                              utils::IteratorType::reduction);
  AffineMap result = op.getIndexingMapsArray().back();
  auto sum = linalg::GenericOp::create(
      rewriter, loc, op.getResultTypes(), ofRows.getResults(), op.getDpsInits(),
      {rewriter.getMultiDimIdentityMap(rows.size()),
       AffineMap::get(rows.size(), 0, result.getResults(), context)},
      reductions, [](OpBuilder &builder, Location loc, ValueRange scalars) {
        Value next =
            arith::AddFOp::create(builder, loc, scalars[1], scalars[0]);
        linalg::YieldOp::create(builder, loc, next);
      });
  rewriter.replaceOp(op, sum);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Smaller logits are not tiled.
static constexpr int64_t kLargeLogits = 64 << 20;
/// The bytes of a tile for each row of its minimum.
static constexpr int64_t kTileBytesOfRow = 128 << 10;

/// Returns true if `product` is a contraction with a result of floating-point
/// numbers that has at least `threshold` bytes.
static bool isLargeProduct(LinalgOp product, int64_t threshold) {
  if (!product.hasPureTensorSemantics() || product.hasDynamicShape() ||
      !linalg::isaContractionOpInterface(product) ||
      product->getNumResults() != 1)
    return false;
  Type type = product->getResult(0).getType();
  return isa<FloatType>(getElementTypeOrSelf(type)) &&
         estimateBytes(type) >= threshold &&
         llvm::all_of(product.getDpsInputs(), [](Value factor) {
           return isa<RankedTensorType>(factor.getType());
         });
}

namespace {
/// Tiles the heads of one function. They are looked for, and cut into tiles, in
/// a copy: bits do not depend on where names and borders of regions stand.
class HeadTiler {
public:
  HeadTiler(Operation *function, int64_t tileBytes, int64_t rows,
            int64_t threshold)
      : plain(function), tileBytes(tileBytes), rows(rows), threshold(threshold),
        listener(plain.getListener()),
        rewriter(function->getContext(), &listener) {}

  LogicalResult run();

private:
  /// Records products that were erased since they are in another one's tiles.
  struct Listener : RewriterBase::ForwardingListener {
    using ForwardingListener::ForwardingListener;
    void notifyOperationErased(Operation *op) override {
      ForwardingListener::notifyOperationErased(op);
      erased.insert(op);
    }
    DenseSet<Operation *> erased;
  };

  LogicalResult normalize();
  std::optional<int64_t> chooseMaxRows(LinalgOp product, int64_t numRows);
  void tile(LinalgOp product);
  bool tile(LinalgOp product, OpOperand *activations, Refusal &refusal);

  PlainCopy plain;
  int64_t tileBytes, rows, threshold;
  Listener listener;
  IRRewriter rewriter;
};
} // namespace

/// Merges and simplifies computations of the plain copy that earlier passes
/// left since names or borders of regions were in between.
LogicalResult HeadTiler::normalize() {
  Operation *copy = plain.get();
  DominanceInfo dominance(copy);
  eliminateCommonSubExpressions(rewriter, dominance, copy);
  MLIRContext *context = copy->getContext();
  RewritePatternSet forms(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(forms);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(forms, context);
  populateFoldTransposesPatterns(forms);
  populateRaiseSoftmaxPatterns(forms);
  GreedyRewriteConfig config;
  config.setListener(&listener);
  if (failed(applyPatternsGreedily(copy, std::move(forms), config)))
    return failure();
  detachMaxima(copy);
  return success();
}

LogicalResult HeadTiler::run() {
  if (failed(normalize()))
    return failure();
  listener.erased.clear();
  SmallVector<LinalgOp> products;
  plain.get()->walk([&](LinalgOp op) {
    if (isLargeProduct(op, threshold))
      products.push_back(op);
  });
  for (LinalgOp product : products)
    if (!listener.erased.contains(product))
      tile(product);
  plain.eraseDead("loss heads compute this value a few rows at a time; name "
                  "what the product reads or the loss of each row, or return "
                  "the value, so that logits stay whole");
  return success();
}

void HeadTiler::tile(LinalgOp product) {
  Refusal refusal;
  for (OpOperand *operand : product.getDpsInputOperands()) {
    // Activations as large as the logits: tiles would save less than the loop
    // costs.
    if (estimateBytes(operand->get().getType()) >=
        estimateBytes(product->getResult(0).getType()))
      continue;
    std::optional<RowShape> rows = findRows(product, operand);
    if (!rows)
      continue;
    if (LinalgOp smaller = cutUnreadRows(rewriter, product, *rows))
      return tile(smaller);
    if (tile(product, operand, refusal))
      return;
  }
  if (!refusal.op)
    return;
  InFlightDiagnostic remark =
      product->emitRemark("logits stay whole, with their cotangent as many "
                          "bytes: ")
      << refusal.reason;
  remark.attachNote(refusal.op->getLoc()) << "here";
}

/// Returns the number of terms that an element of `product` sums.
static int64_t countTerms(LinalgOp product) {
  int64_t terms = 1;
  for (auto [size, kind] : llvm::zip_equal(product.getStaticLoopRanges(),
                                           product.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      terms *= size;
  return terms;
}

/// Returns the maximum number of rows in a tile of the result of `product`, or
/// std::nullopt if the logits had better stay whole. Each tile reads the
/// weights, and reads and writes their gradient, which on a CPU takes a tenth
/// of the time of its products if it has 128 rows, whether a cache holds the
/// weights or not, and less if it has more. A tile is live at the same time as
/// that gradient, which is as large as a tile with a row for each term of the
/// product's sums: up to a quarter of it does little to the peak.
std::optional<int64_t> HeadTiler::chooseMaxRows(LinalgOp product,
                                                int64_t numRows) {
  int64_t bytes = estimateBytes(product->getResult(0).getType());
  int64_t bytesOfRow = std::max<int64_t>(1, bytes / numRows);
  if (tileBytes != 0)
    return std::max<int64_t>(1, tileBytes / bytesOfRow);
  int64_t minRows = std::clamp(countTerms(product) / 4, rows, 2 * rows);
  int64_t maxRows =
      std::clamp(minRows * kTileBytesOfRow / bytesOfRow, minRows, 2 * minRows);
  return numRows > 2 * maxRows ? std::optional(maxRows) : std::nullopt;
}

bool HeadTiler::tile(LinalgOp product, OpOperand *activations,
                     Refusal &refusal) {
  LossHead head(product, activations);
  if (!head.find(refusal))
    return false;
  if (!head.getSums().empty()) {
    for (linalg::GenericOp sum : head.getSums())
      splitSum(rewriter, sum, *head.getShapes().getLoops(sum));
    head = LossHead(product, activations);
    // The remaining sums read one number for each row.
    if (!head.find(refusal) || !head.getSums().empty())
      return false;
  }
  for (Operation *op : head.getOpsBehind())
    if (!isMemoryEffectFree(op)) {
      refusal = {op, "an operation with an effect stands between them and "
                     "the end of the loss"};
      return false;
    }
  std::optional<SmallVector<int64_t>> sizes = head.getRowSizes();
  if (!sizes) {
    refusal = {product, "rows are split in several ways"};
    return false;
  }
  Operation *place = plain.findPlace(head.getOps().back());
  std::optional<int64_t> maxRows = chooseMaxRows(product, head.getNumRows());
  if (!place || !maxRows)
    return false;
  plain.transplant(tileRows(rewriter, head, *sizes, *maxRows), place);
  return true;
}

namespace {
struct TileLossHeadsPass
    : mlir::remat::impl::TileLossHeadsPassBase<TileLossHeadsPass> {
  using TileLossHeadsPassBase::TileLossHeadsPassBase;

  void runOnOperation() override {
    if (tileBytes < 0 || rows <= 0 || threshold < 0) {
      emitError(getOperation()->getLoc())
          << "tile-bytes and threshold must be at least 0, and rows positive, "
             "but they are "
          << tileBytes.getValue() << ", " << threshold.getValue() << " and "
          << rows.getValue();
      return signalPassFailure();
    }
    int64_t minBytes = threshold   ? threshold
                       : tileBytes ? 2 * tileBytes
                                   : kLargeLogits;
    llvm::SetVector<Operation *> functions;
    getOperation()->walk([&](LinalgOp op) {
      if (isLargeProduct(op, minBytes))
        // Ranks split rows, of which a tile would have each rank's.
        if (auto function = op->getParentOfType<FunctionOpInterface>();
            function && !hasShards(function))
          functions.insert(function);
    });
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (Operation *function : functions)
      if (failed(HeadTiler(function, tileBytes, rows, minBytes).run()))
        return signalPassFailure();
  }
};
} // namespace
