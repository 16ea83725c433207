//===- AttentionReshapes.cpp - Reshapes between attention's products ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionReshapes.h"
#include "ScoreBody.h"
#include "remat/Transforms/Fold/Patterns.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool mlir::remat::isProductOnTensors(Operation *op) {
  auto structured = dyn_cast_or_null<LinalgOp>(op);
  return structured && structured.hasPureTensorSemantics() &&
         linalg::isaContractionOpInterface(structured);
}

Operation *mlir::remat::findSource(Value value, bool throughReshapes,
                                   function_ref<bool(Operation *)> isSource) {
  SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isSource(op))
      return op;
    if (isTensorReshape(op) && (throughReshapes || isUnitReshape(op)))
      pending.push_back(op->getOperand(0));
    else if (isInlinableKernel(op))
      llvm::append_range(pending,
                         llvm::reverse(cast<LinalgOp>(op).getDpsInputs()));
  }
  return nullptr;
}

static bool comesFromSoftmax(Value value) {
  return findSource(value, /*throughReshapes=*/true,
                    [](Operation *op) { return isa<linalg::SoftmaxOp>(op); });
}

/// Returns true if elementwise kernels and reshapes compute the operand of a
/// softmax from `value`.
static bool leadsToSoftmax(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (unsigned next = 0; next < values.size(); ++next)
    for (Operation *user : values[next].getUsers()) {
      if (isa<linalg::SoftmaxOp>(user))
        return true;
      if (isTensorReshape(user) || isInlinableKernel(user))
        values.insert(user->result_begin(), user->result_end());
    }
  return false;
}

/// Returns true if `value` depends on a product, and a softmax on it. A tensor
/// that is only combined with the scores (a mask) may be reshaped itself.
static bool isScore(Value value) {
  return findSource(value, /*throughReshapes=*/true, isProductOnTensors) &&
         leadsToSoftmax(value);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// A softmax of collapsed scores, before they are.
struct SoftmaxBeforeCollapse : OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getInput().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || op.getNumResults() != 1 || !isScore(collapse.getSrc()))
      return failure();
    SmallVector<ReassociationIndices> groups =
        collapse.getReassociationIndices();
    if (groups[op.getDimension()].size() != 1)
      return failure();
    Location loc = op.getLoc();
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, collapse.getSrc()),
        getElementTypeOrSelf(op.getResult()[0]));
    auto softmax = linalg::SoftmaxOp::create(
        rewriter, loc, TypeRange{empty.getType()}, collapse.getSrc(), empty,
        groups[op.getDimension()][0]);
    copyAttributes(op, softmax);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op.getResult()[0].getType(), softmax.getResult()[0], groups);
    return success();
  }
};

/// A mask of one head or batch that is read at index 0 for all of them, without
/// that dimension: upstream moves no reshape past such a read.
struct DropUnitDimsOfMask : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isInlinableKernel(op) || op->getNumResults() != 1 ||
        !isScore(op->getResult(0)))
      return failure();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    bool changed = false;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap &map = maps[input->getOperandNumber()];
      auto type = dyn_cast<RankedTensorType>(input->get().getType());
      if (!type || !type.hasStaticShape())
        continue;
      SmallVector<int64_t> shape;
      SmallVector<AffineExpr> results;
      SmallVector<ReassociationIndices> groups;
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        bool isKept = !isa<AffineConstantExpr>(expr);
        if (isKept) {
          shape.push_back(type.getDimSize(dim));
          results.push_back(expr);
        }
        // Dimensions that go belong to the one before, the first to the next.
        if (groups.empty() || (isKept && shape.size() > 1))
          groups.emplace_back();
        groups.back().push_back(dim);
      }
      if (results.size() == map.getNumResults() ||
          llvm::any_of(llvm::zip_equal(type.getShape(), map.getResults()),
                       [](auto pair) {
                         auto [size, expr] = pair;
                         return isa<AffineConstantExpr>(expr) && size != 1;
                       }))
        continue;
      if (shape.empty())
        groups.clear();
      Value small = tensor::CollapseShapeOp::create(
          rewriter, op.getLoc(),
          RankedTensorType::get(shape, type.getElementType()), input->get(),
          groups);
      rewriter.modifyOpInPlace(op, [&] { input->set(small); });
      map = AffineMap::get(map.getNumDims(), 0, results, op.getContext());
      changed = true;
    }
    if (!changed)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    return success();
  }
};
} // namespace

void mlir::remat::populateMoveReshapesOutOfAttentionPatterns(
    RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        Operation *consumer = operand->getOwner();
        if (isTensorReshape(consumer))
          return isScore(operand->get());
        return comesFromSoftmax(operand->get()) ||
               (isScore(operand->get()) &&
                leadsToSoftmax(consumer->getResult(0)));
      });
  patterns.add<SoftmaxBeforeCollapse, DropUnitDimsOfMask>(context);
  populateSplitUnitReshapePatterns(patterns);
  // So that the products' sums still start from a fill.
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
}
