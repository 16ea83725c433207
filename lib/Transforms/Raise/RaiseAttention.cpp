//===- RaiseAttention.cpp - Attention out of its parts --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As products and a softmax, attention keeps a number for each pair of
// positions for the backward, and moves several such arrays through memory. As
// one operation it keeps one for each row.
//===----------------------------------------------------------------------===//

#include "AttentionRaiser.h"
#include "AttentionReshapes.h"
#include "FoldIntoAttention.h"
#include "Patterns.h"
#include "remat/Transforms/Fold/Patterns.h"
#include "remat/Transforms/Match/PlainCopy.h"
#include "remat/Transforms/Raise/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "remat/Transforms/Raise/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

/// Returns true if `function` has an attention or a softmax, or may have one
/// that only names or borders of regions hide.
static bool mayHaveAttention(Operation *function) {
  bool hasPowers = false, hasBorders = false, hasSoftmax = false;
  function->walk([&](Operation *op) {
    hasPowers |= isa<math::ExpOp>(op);
    hasBorders |= isa<NameOp, RegionOp>(op);
    hasSoftmax |= isa<linalg::SoftmaxOp, AttentionOp>(op);
  });
  return hasSoftmax || (hasPowers && hasBorders);
}

/// Works on a plain copy, so that the result depends neither on names and
/// borders of regions nor on whether equal computations were merged.
static LogicalResult raiseIn(Operation *function, bool rounds) {
  PlainCopy plain(function);
  RewritePatternSet forms(function->getContext()),
      reshapes(function->getContext());
  populateFoldTransposesPatterns(forms);
  populateRaiseSoftmaxPatterns(forms);
  populateMoveReshapesOutOfAttentionPatterns(reshapes);
  GreedyRewriteConfig config;
  config.setListener(plain.getListener());
  IRRewriter rewriter(function->getContext(), plain.getListener());
  DominanceInfo dominance(plain.get());
  eliminateCommonSubExpressions(rewriter, dominance, plain.get());
  if (failed(applyPatternsGreedily(plain.get(), std::move(forms), config)) ||
      failed(applyPatternsGreedily(plain.get(), std::move(reshapes), config)))
    return failure();
  SmallVector<LinalgOp> products;
  SmallVector<AttentionOp> exported, raised;
  plain.get()->walk([&](Operation *op) {
    if (isFloatProduct(op))
      products.push_back(cast<LinalgOp>(op));
    else if (auto attention = dyn_cast<AttentionOp>(op);
             attention && attention.getResults()[1].use_empty())
      exported.push_back(attention);
  });
  for (LinalgOp product : products)
    if (AttentionOp op = raiseAttentionOf(rewriter, product, rounds))
      raised.push_back(op);
  for (AttentionOp attention : exported)
    if (AttentionOp op = foldIntoAttention(rewriter, attention, rounds))
      raised.push_back(op);
  for (AttentionOp op : raised)
    plain.transplant(op);
  plain.eraseDead("attention computes this value a few rows at a time; name "
                  "query, key, value or result, or keep products and a softmax "
                  "by reading the value elsewhere, too");
  return success();
}

namespace {
struct RaiseAttentionPass
    : mlir::remat::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> functions;
    getOperation()->walk([&](FunctionOpInterface function) {
      if (mayHaveAttention(function))
        functions.push_back(function);
    });
    // Nothing else changes.
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (Operation *function : functions)
      if (failed(raiseIn(function, rounded)))
        return signalPassFailure();
  }
};
} // namespace
