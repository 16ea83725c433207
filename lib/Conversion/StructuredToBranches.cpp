//===- StructuredToBranches.cpp - Loops and branches as blocks ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's pass converts them from first to last, and each of them moves all
// operations after it to a new block: a function of thousands of loops takes
// the square of their number. From last to first each moves the operations up
// to the next.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTSTRUCTUREDTOBRANCHES
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

namespace {
struct ConvertStructuredToBranches
    : mlir::remat::impl::ConvertStructuredToBranchesBase<
          ConvertStructuredToBranches> {
  void runOnOperation() override {
    // The driver takes the last one first, and what is around others before
    // them.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<scf::SCFDialect>(op->getDialect()) &&
          !op->hasTrait<OpTrait::IsTerminator>())
        ops.push_back(op);
    });
    if (ops.empty())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    GreedyRewriteConfig config;
    // Results of one pattern (loops of a scf.parallel) go through others.
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps)
        .enableFolding(false);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
