//===- Canonicalize.cpp - Upstream's canonical form of large programs -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's canonicalizer compares every two values that a loop carries, and
// its CSE every two operations that read the same from around their bodies. A
// step of this project does either in a time that grows with the program.
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
    // mergeCarried does what that pattern does.
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
    // A program is in canonical form as far as upstream's pass would bring it.
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
