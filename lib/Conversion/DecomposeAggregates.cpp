//===- DecomposeAggregates.cpp - Expand linalg.softmax --------------------===//
//
// Upstream expands aggregates by a transform script only; without this pass a
// linalg.softmax would survive to the end of every pipeline.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DECOMPOSEAGGREGATES
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

namespace {
/// Gives what is inserted the phase of the operation that it replaces.
struct PhaseListener : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (phase && !isa_and_nonnull<linalg::LinalgOp>(op->getParentOp()))
      op->setAttr("remat.phase", phase);
  }
  Attribute phase;
};

struct DecomposeAggregatesPass
    : remat::impl::DecomposeAggregatesBase<DecomposeAggregatesPass> {
  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> aggregates;
    getOperation()->walk(
        [&](linalg::AggregatedOpInterface op) { aggregates.push_back(op); });
    for (linalg::AggregatedOpInterface op : aggregates) {
      PhaseListener listener;
      listener.phase = op->getAttr("remat.phase");
      IRRewriter rewriter(&getContext(), &listener);
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
      if (failed(parts)) {
        op->emitOpError("cannot be expanded into structured operations");
        return signalPassFailure();
      }
      rewriter.replaceOp(op, *parts);
    }
  }
};
} // namespace
