//===- ReplaceSwitch.cpp - Switches as chains of branches -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization does not see that a result of an scf.index_switch is
// the buffer that a case yields, and writes over it. This goes when it does:
// test/Upstream/mlir/switch-results.mlir.
//===----------------------------------------------------------------------===//

#include "remat/Workarounds/ReplaceSwitch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void mlir::remat::replaceSwitch(scf::IndexSwitchOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<scf::IfOp> choices;
  for (auto [value, region] :
       llvm::zip_equal(op.getCases(), op.getCaseRegions())) {
    Value label = arith::ConstantIndexOp::create(builder, loc, value);
    Value isChosen = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, op.getArg(), label);
    auto choice = scf::IfOp::create(builder, loc, op.getResultTypes(), isChosen,
                                    /*addThenBlock=*/false,
                                    /*addElseBlock=*/false);
    choice->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    choice.getThenRegion().takeBody(region);
    choices.push_back(choice);
    builder.createBlock(&choice.getElseRegion());
  }
  Block *rest = &op.getDefaultBlock();
  if (choices.empty()) {
    Operation *yield = rest->getTerminator();
    op.replaceAllUsesWith(yield->getOperands());
    yield->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           rest->getOperations());
    op.erase();
    return;
  }
  for (scf::IfOp inner : ArrayRef(choices).drop_front()) {
    builder.setInsertionPointToEnd(inner->getBlock());
    scf::YieldOp::create(builder, loc, inner.getResults());
  }
  choices.back().getElseRegion().takeBody(op.getDefaultRegion());
  op.replaceAllUsesWith(choices.front().getResults());
  op.erase();
}
