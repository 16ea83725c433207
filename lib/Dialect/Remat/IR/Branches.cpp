//===- Branches.cpp - Operations that run one of their regions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiation and materialization both send values out of branches.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Branches.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isBranch(Operation *op) {
  return isa<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op) &&
         llvm::all_of(op->getRegions(), [](Region &region) {
           return region.empty() || region.hasOneBlock();
         });
}

bool mlir::remat::isDefinedIn(Value value, Operation *op) {
  return op->isAncestor(value.getParentRegion()->getParentOp());
}

bool mlir::remat::isUndefined(Value value) {
  if (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return isEmptyTensor(value) || value.getDefiningOp<ub::PoisonOp>();
}

Value mlir::remat::createUndefined(OpBuilder &builder, Location loc, Type type,
                                   ArrayRef<OpFoldResult> sizes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return ub::PoisonOp::create(builder, loc, type);
  if (tensor.hasStaticShape())
    return tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                   tensor.getElementType(),
                                   tensor.getEncoding());
  Value empty = tensor::EmptyOp::create(
      builder, loc, sizes, tensor.getElementType(), tensor.getEncoding());
  // Sizes may be known better than by the type.
  return empty.getType() == type
             ? empty
             : tensor::CastOp::create(builder, loc, type, empty).getResult();
}

Value mlir::remat::getOnlyDefinedValue(OpResult result) {
  Value defined;
  for (Region &region : result.getOwner()->getRegions()) {
    if (region.empty())
      return {};
    Value yielded =
        region.front().getTerminator()->getOperand(result.getResultNumber());
    if (isUndefined(yielded))
      continue;
    if (defined)
      return {};
    defined = yielded;
  }
  return defined;
}

scf::ForOp mlir::remat::takeLoop(OpBuilder &builder, scf::ForOp loop,
                                 ValueRange inits) {
  auto taken = scf::ForOp::create(
      builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
      loop.getStep(), inits, [](OpBuilder &, Location, Value, ValueRange) {},
      loop.getUnsignedCmp());
  taken->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  taken.getRegion().takeBody(loop.getRegion());
  return taken;
}

Value mlir::remat::getSameSizes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CastOp>(op) && !OpTrait::hasElementwiseMappableTraits(op))
      break;
    auto operand = llvm::find_if(op->getOperands(), [](Value operand) {
      return isa<RankedTensorType>(operand.getType());
    });
    if (operand == op->operand_end())
      break;
    value = *operand;
  }
  return value;
}

SmallVector<OpFoldResult>
mlir::remat::getSizesBefore(OpBuilder &builder, Operation *op, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isStatic(size)) {
      sizes.push_back(builder.getIndexAttr(size));
      continue;
    }
    FailureOr<OpFoldResult> bound = arith::reifyShapedValueDimBound(
        builder, value.getLoc(), presburger::BoundType::EQ, value, dim,
        [&](Value candidate, std::optional<int64_t>,
            ValueBoundsConstraintSet &) {
          return !isDefinedIn(candidate, op);
        });
    sizes.push_back(succeeded(bound) ? *bound : OpFoldResult());
  }
  return sizes;
}

/// Creates `branch` again with results of `types`, and moves its blocks.
static Operation *recreate(Operation *branch, TypeRange types) {
  OpBuilder builder(branch);
  OperationState state(branch->getLoc(), branch->getName());
  state.addOperands(branch->getOperands());
  state.addTypes(types);
  state.attributes = branch->getDiscardableAttrDictionary();
  state.propertiesAttr = branch->getPropertiesAsAttribute();
  for (Region &region : branch->getRegions())
    state.addRegion()->takeBody(region);
  return builder.create(state);
}

Operation *mlir::remat::appendBranchResults(Operation *branch,
                                            ArrayRef<Value> values) {
  if (values.empty())
    return branch;
  SmallVector<Type> types(branch->getResultTypes());
  for (Value value : values) {
    types.push_back(value.getType());
    SmallVector<OpFoldResult> sizes;
    OpBuilder before(branch);
    for (Region &region : branch->getRegions()) {
      Operation *end = region.front().getTerminator();
      Value yielded = value;
      if (!region.isAncestor(value.getParentRegion())) {
        OpBuilder builder(end);
        auto tensor = dyn_cast<RankedTensorType>(value.getType());
        if (tensor && sizes.empty() && !tensor.hasStaticShape())
          sizes = getSizesBefore(before, branch, value);
        // An unknown size is taken for 0, which allocates nothing.
        llvm::replace(sizes, OpFoldResult(),
                      OpFoldResult(before.getIndexAttr(0)));
        yielded =
            createUndefined(builder, value.getLoc(), value.getType(), sizes);
      }
      end->insertOperands(end->getNumOperands(), yielded);
    }
  }
  Operation *grown = recreate(branch, types);
  branch->replaceAllUsesWith(
      grown->getResults().take_front(branch->getNumResults()));
  branch->erase();
  return grown;
}

Operation *mlir::remat::eraseBranchResults(Operation *branch,
                                           const llvm::BitVector &results) {
  for (Region &region : branch->getRegions())
    if (!region.empty())
      region.front().getTerminator()->eraseOperands(results);
  return IRRewriter(branch).eraseOpResults(branch, results);
}
