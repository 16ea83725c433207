//===- DecomposeAttentionForGPU.cpp - Attention that has no kernel --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which attention has kernels is decided on tensors, where what has none can
// still be taken apart.
//===----------------------------------------------------------------------===//

#include "../DecomposeAggregates.h"
#include "AttentionPlan.h"
#include "remat/Conversion/CUDA/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DECOMPOSEATTENTIONFORGPU
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Why there is no kernel for `op`; empty if there is one.
static std::string explain(Operation *op) {
  std::string reason;
  if (auto forward = dyn_cast<AttentionOp>(op))
    (void)planAttention(forward, reason);
  else
    (void)planAttention(cast<AttentionBackwardOp>(op), reason);
  return reason;
}

namespace {
struct DecomposeAttentionForGPU
    : mlir::remat::impl::DecomposeAttentionForGPUBase<
          DecomposeAttentionForGPU> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionBackwardOp>(op) &&
          cast<DestinationStyleOpInterface>(op).hasPureTensorSemantics())
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      std::string reason = explain(op);
      if (reason.empty())
        continue;
      op->emitRemark() << "products and a softmax, with a number for each pair "
                          "of positions in memory: "
                       << reason;
      if (failed(decomposeAggregate(cast<linalg::AggregatedOpInterface>(op))))
        return signalPassFailure();
    }
  }
};
} // namespace
