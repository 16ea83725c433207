//===- Numbers.cpp - Operations by number ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that chooses what to save knows operations by what was listed, not
// by a pattern. Numbers last for one pass: an attribute keeps them while
// operations move into regions.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::remat;

void mlir::remat::visitOps(func::FuncOp function,
                           function_ref<void(Operation *)> visit) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    visit(op);
    return isa<linalg::LinalgOp, AttentionOp>(op) ? WalkResult::skip()
                                                  : WalkResult::advance();
  });
}

void mlir::remat::numberOps(ModuleOp module) {
  Builder builder(module.getContext());
  int64_t number = 0;
  for (auto function : module.getOps<func::FuncOp>())
    visitOps(function, [&](Operation *op) {
      op->setAttr(kNumberAttrName, builder.getI64IntegerAttr(number++));
    });
}

void mlir::remat::clearNumbers(ModuleOp module) {
  module.walk([](Operation *op) { op->removeAttr(kNumberAttrName); });
}
