//===- DecomposeAggregates.cpp - Expand linalg.softmax --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream expands aggregates by a transform script only; without this pass a
// linalg.softmax would survive to the end of every pipeline.
//===----------------------------------------------------------------------===//

#include "DecomposeAggregates.h"

#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DECOMPOSEAGGREGATES
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// Divides by the sums of a softmax as a multiplication by one quotient for
/// each row: a vector of quotients takes as long as ten of products. Not in a
/// narrow type, in which the inverse of a large sum is denormal. `last` is the
/// part of a softmax that divides.
static void multiplyByInverse(RewriterBase &rewriter, linalg::GenericOp last) {
  for (auto quotient :
       llvm::to_vector(last.getBody()->getOps<arith::DivFOp>())) {
    auto type = cast<FloatType>(quotient.getType());
    if (type.getWidth() < 32)
      continue;
    rewriter.setInsertionPoint(quotient);
    Location loc = quotient.getLoc();
    Value one = arith::ConstantOp::create(rewriter, loc,
                                          rewriter.getFloatAttr(type, 1.0));
    Value inverse =
        arith::DivFOp::create(rewriter, loc, one, quotient.getRhs());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(quotient, quotient.getLhs(),
                                               inverse);
  }
}

LogicalResult remat::decomposeAggregate(linalg::AggregatedOpInterface op) {
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    return op->emitOpError("can be expanded into structured operations on "
                           "tensors only; do so before bufferization");
  Operation *before = op->getPrevNode();
  PhaseListener listener(getPhase(op));
  IRRewriter rewriter(op->getContext(), &listener);
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
  if (failed(parts))
    return op->emitOpError("cannot be expanded into structured operations");
  for (Operation *part = before ? before->getNextNode()
                                : &op->getBlock()->front();
       part != op; part = part->getNextNode())
    if (auto structured = dyn_cast<linalg::LinalgOp>(part))
      fixReductionOrder(structured);
  if (isa<linalg::SoftmaxOp>(op))
    multiplyByInverse(rewriter,
                      parts->front().getDefiningOp<linalg::GenericOp>());
  rewriter.replaceOp(op, *parts);
  return success();
}

namespace {
struct DecomposeAggregatesPass
    : remat::impl::DecomposeAggregatesBase<DecomposeAggregatesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> aggregates;
    getOperation()->walk([&](linalg::AggregatedOpInterface op) {
      if (!llvm::is_contained(keep, op->getName().getStringRef()))
        aggregates.push_back(op);
    });
    if (aggregates.empty())
      return markAllAnalysesPreserved();
    for (linalg::AggregatedOpInterface op : aggregates) {
      if (failed(remat::decomposeAggregate(op)))
        return signalPassFailure();
    }
  }
};
} // namespace
