//===- DropUnusedResults.cpp - Reductions of what is read -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends compute the place of a maximum beside it, read or not. A kernel
// that carries a place along is many times slower than one of a maximum.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Fold/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DROPUNUSEDRESULTSPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

namespace {
struct DropUnusedResultsPass
    : mlir::remat::impl::DropUnusedResultsPassBase<DropUnusedResultsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (op->getNumResults() > 1 &&
          llvm::any_of(op->getResults(),
                       [](Value result) { return result.use_empty(); }))
        kernels.push_back(op);
    });
    if (kernels.empty())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    if (failed(applyOpPatternsGreedily(kernels, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
