//===- CheckOrders.cpp - Refuse reductions without a fixed order ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass that drops the order of a reduction changes bits under some policies
// only; here it is found under every one.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Transforms/Checks/Passes.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CHECKORDERSPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
struct CheckOrdersPass : remat::impl::CheckOrdersPassBase<CheckOrdersPass> {
  void runOnOperation() override {
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isParallel(op) || remat::hasFixedOrder(op))
        return;
      op->emitOpError("has reduction loops, but no remat.order; the pass that "
                      "replaced the operation must keep the attribute");
      signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
