//===- Canonicalize.cpp - Upstream's canonicalization in linear time ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's canonicalizer compares every two values that a loop carries, and
// its CSE every two operations whose regions capture values but are equal
// otherwise. Both are done here in a time linear in the size of a step.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Transforms/Fold/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CANONICALIZEPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
struct CanonicalizePass
    : mlir::remat::impl::CanonicalizePassBase<CanonicalizePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(all);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(all, context);
    // mergeCarried replaces that pattern.
    patterns = FrozenRewritePatternSet(
        std::move(all), /*disabledPatternLabels=*/{
            "(anonymous namespace)::RemoveDuplicateSuccessorInputUses"});
    return success();
  }

  void runOnOperation() override {
    Operation *root = getOperation();
    mergeCarried(root);
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    // Like upstream's pass, this accepts a program that has not converged.
    (void)applyPatternsGreedily(root, patterns, config);
    if (cse) {
      DominanceInfo dominance(root);
      mergeCommonSubexpressions(root, dominance);
    }
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
