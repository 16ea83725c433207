//===- DetachMeans.cpp - Stop gradients of means in variances -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of (x - m)^2 is minimal where m is the mean of x, so that its
// derivative with respect to m is zero there. Without this pass the adjoint
// computes that zero: the sum of c (x - m), in a kernel that has to wait for c
// and so reads x once more, for each norm of a model.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Detach/Passes.h"
#include "remat/Transforms/Detach/Variance.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DETACHMEANSPASS
#include "remat/Transforms/Detach/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Returns true if the operations on the path have no users other than the sum.
static bool isReadOnlyByTheSum(const Variance &variance) {
  return llvm::all_of(variance.path, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return user == variance.sum || variance.path.contains(user);
    });
  });
}

/// Gives the sum differences of its own, through which no gradient flows to the
/// mean. Other users keep the original differences, and their gradient.
static void detachMean(RewriterBase &rewriter, Variance variance,
                       bool mayChangeDifferences) {
  Operation *kernel = variance.mean->getOwner();
  unsigned number = variance.mean->getOperandNumber();
  IRMapping copies;
  if (!mayChangeDifferences || !isReadOnlyByTheSum(variance)) {
    copyPath(rewriter, variance, copies);
    kernel = copies.lookupOrDefault(kernel);
    Operation *sum = variance.sum;
    rewriter.modifyOpInPlace(sum, [&] {
      for (OpOperand &operand : sum->getOpOperands())
        operand.set(copies.lookupOrDefault(operand.get()));
    });
    for (Operation *op : variance.path)
      if (isOpTriviallyDead(op))
        rewriter.eraseOp(op);
  }
  OpOperand &mean = kernel->getOpOperand(number);
  rewriter.setInsertionPoint(kernel);
  Value detached =
      StopGradientOp::create(rewriter, kernel->getLoc(), mean.get());
  rewriter.modifyOpInPlace(kernel, [&] { mean.set(detached); });
}

namespace {
struct DetachMeansPass
    : mlir::remat::impl::DetachMeansPassBase<DetachMeansPass> {
  void runOnOperation() override {
    // A kernel cannot be copied out of its region.
    bool changed = rewriteVariances(
        getOperation(), [](const Variance &) { return true; },
        [](const Variance &variance) {
          return variance.path.contains(nullptr);
        },
        [](RewriterBase &rewriter, Variance variance, bool isPlain) {
          Operation *sum = variance.sum;
          detachMean(rewriter, std::move(variance),
                     /*mayChangeDifferences=*/!isPlain);
          return sum;
        });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
