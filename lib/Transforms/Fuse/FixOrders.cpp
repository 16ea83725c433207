//===- FixOrders.cpp - Fix the order of reductions ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without this pass the order of a sum would be that of the kernel that it
// becomes a part of.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Transforms/Fuse/Passes.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FIXORDERSPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

namespace {
struct FixOrdersPass : remat::impl::FixOrdersPassBase<FixOrdersPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](linalg::LinalgOp op) { remat::fixReductionOrder(op); });
  }
};
} // namespace
