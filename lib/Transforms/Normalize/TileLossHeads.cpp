//===- TileLossHeads.cpp - Losses of some rows at a time ------------------===//
//
// The logits of a large vocabulary are the largest tensor of a model, and their
// cotangent is as large. As the rows of a loss are independent of each other,
// both need to exist for some rows at a time only.
//
//===----------------------------------------------------------------------===//

#include "CutRows.h"
#include "LossHead.h"
#include "RowTiler.h"
#include "remat/Transforms/Normalize/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_TILELOSSHEADSPASS
#include "remat/Transforms/Normalize/Passes.h.inc"
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

/// Whether `product` makes so much of so little that tiles of it are worth a
/// second product.
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
struct TileLossHeadsPass
    : mlir::remat::impl::TileLossHeadsPassBase<TileLossHeadsPass> {
  using TileLossHeadsPassBase::TileLossHeadsPassBase;

  void runOnOperation() override {
    if (tileBytes <= 0 || threshold < 0) {
      emitError(getOperation()->getLoc())
          << "tile-bytes must be positive, and threshold at least 0, but they "
             "are "
          << tileBytes.getValue() << " and " << threshold.getValue();
      return signalPassFailure();
    }
    int64_t minBytes = threshold ? threshold : 2 * tileBytes;
    SmallVector<LinalgOp> products;
    getOperation()->walk([&](LinalgOp op) {
      if (isLargeProduct(op, minBytes))
        products.push_back(op);
    });
    // One that is part of a later one's tiles goes with it.
    DenseSet<Operation *> erased;
    IRRewriter rewriter(&getContext());
    struct Listener : RewriterBase::Listener {
      DenseSet<Operation *> *erased;
      void notifyOperationErased(Operation *op) override { erased->insert(op); }
    } listener;
    listener.erased = &erased;
    rewriter.setListener(&listener);
    for (LinalgOp product : products)
      if (!erased.contains(product))
        tile(rewriter, product);
    if (products.empty())
      markAllAnalysesPreserved();
  }

  void tile(RewriterBase &rewriter, LinalgOp product) {
    Refusal refusal;
    for (OpOperand *operand : product.getDpsInputOperands()) {
      // The factor that is as large as the result has more to say in a loop
      // than all of its tiles save.
      if (estimateBytes(operand->get().getType()) >=
          estimateBytes(product->getResult(0).getType()))
        continue;
      std::optional<RowShape> rows = findRows(product, operand);
      if (!rows)
        continue;
      if (LinalgOp smaller = cutUnreadRows(rewriter, product, *rows))
        return tile(rewriter, smaller);
      if (tile(rewriter, product, operand, refusal))
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

  bool tile(RewriterBase &rewriter, LinalgOp product, OpOperand *activations,
            Refusal &refusal) {
    LossHead head(product, activations);
    if (!head.find(refusal))
      return false;
    if (!head.getSums().empty()) {
      for (linalg::GenericOp sum : head.getSums())
        splitSum(rewriter, sum, *head.getShapes().getLoops(sum));
      return tile(rewriter, product, activations, refusal);
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
    int64_t bytesOfRow =
        estimateBytes(product->getResult(0).getType()) / head.getNumRows();
    tileRows(rewriter, head, *sizes,
             std::max<int64_t>(1, tileBytes / bytesOfRow));
    return true;
  }
};
} // namespace
