//===- Residuals.cpp - What a function's backward may keep ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Plan/Residuals.h"

#include "Tapes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isWithoutContents(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isEmptyTensor(op) ||
         isa<linalg::FillOp>(op);
}

bool mlir::remat::isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
      op);
}

std::optional<StringRef> mlir::remat::getPolicyName(Value value) {
  for (Operation *user : value.getUsers())
    if (auto name = dyn_cast<NameOp>(user))
      return name.getName();
  return std::nullopt;
}

Value mlir::remat::lookThroughTapes(Value value) {
  while (TapeWriteOp write = getWriteOf(value))
    value = write.getValue();
  return value;
}

void mlir::remat::recordDecision(Value value, DecisionAttr decision) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  MLIRContext *context = op->getContext();
  StringAttr of;
  if (std::optional<StringRef> name = getPolicyName(value))
    of = StringAttr::get(context, *name);
  decision = DecisionAttr::get(context, decision.getKind(), of,
                               decision.getBy(), decision.getReason());
  for (Operation *user : value.getUsers())
    if (auto saved = dyn_cast<SavedOp>(user))
      return saved.setDecisionAttr(decision);
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  SavedOp::create(builder, op->getLoc(), value, decision);
}

DenseMap<Value, DecisionAttr>
mlir::remat::takeRecordedDecisions(Operation *root) {
  DenseMap<Value, DecisionAttr> decisions;
  root->walk([&](SavedOp saved) {
    // Equal values of two regions may have been merged; a name holds for both.
    DecisionAttr &decision = decisions[saved.getValue()];
    if (!decision || decision.getKind() != DecisionKind::SaveNamed)
      decision = saved.getDecision();
    saved.erase();
  });
  return decisions;
}
