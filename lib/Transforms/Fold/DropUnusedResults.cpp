//===- DropUnusedResults.cpp - Reductions of what is read -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends compute the index of a maximum beside it, used or not. A kernel
// that carries an index along is many times slower than one of a maximum.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

LogicalResult mlir::remat::dropUnusedResults(Operation *root) {
  SmallVector<Operation *> kernels;
  root->walk([&](linalg::GenericOp op) {
    if (op->getNumResults() > 1 &&
        llvm::any_of(op->getResults(),
                     [](Value result) { return result.use_empty(); }))
      kernels.push_back(op);
  });
  RewritePatternSet patterns(root->getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  return applyOpPatternsGreedily(kernels, std::move(patterns));
}
