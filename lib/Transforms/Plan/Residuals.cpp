//===- Residuals.cpp - What a function's backward may keep ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Plan/Residuals.h"

#include "Tapes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isWithoutContents(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<tensor::EmptyOp, linalg::FillOp>(op);
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

// In the location rather than in an attribute: CSE must not tell a value that
// is saved from one that is not.
void mlir::remat::recordDecision(Value value, DecisionAttr decision) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  StringAttr of;
  if (std::optional<StringRef> name = getPolicyName(value))
    of = StringAttr::get(op->getContext(), *name);
  op->setLoc(
      FusedLoc::get(op->getContext(), op->getLoc(),
                    DecisionAttr::get(op->getContext(), decision.getKind(), of,
                                      decision.getBy(), decision.getReason())));
}

DecisionAttr mlir::remat::getRecordedDecision(Value value) {
  Operation *op = lookThroughTapes(value).getDefiningOp();
  if (!op)
    return {};
  auto loc = op->getLoc()->findInstanceOf<FusedLocWith<DecisionAttr>>();
  return loc ? loc.getMetadata() : DecisionAttr();
}

void mlir::remat::dropRecordedDecisions(Operation *root) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FusedLoc loc) -> std::optional<Attribute> {
    if (isa_and_nonnull<DecisionAttr>(loc.getMetadata()))
      return FusedLoc::get(loc.getLocations(), /*metadata=*/{},
                           loc.getContext());
    return std::nullopt;
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/true,
                                        /*replaceTypes=*/false);
}
