//===- Destination.cpp - Which tensors will share a buffer ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list of the operations that bufferize in place, for all who ask before.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Schedule/Destination.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

/// The tensor from outside that a branch updates in place: the gradient to
/// which the branches that are taken add.
static Value getDestinationAround(OpResult value) {
  Operation *branch = value.getOwner();
  for (Region &region : branch->getRegions()) {
    Value at =
        region.front().getTerminator()->getOperand(value.getResultNumber());
    bool isWritten = false;
    while (auto result = dyn_cast<OpResult>(at)) {
      if (!branch->isProperAncestor(result.getOwner()))
        break;
      Value destination = remat::getDestination(result);
      isWritten |= bool(destination);
      at = destination ? destination : remat::getViewedTensor(result);
      if (!at)
        break;
    }
    if (at && isWritten && !region.isAncestor(at.getParentRegion()))
      return at;
  }
  return {};
}

Value remat::getDestination(OpResult value) {
  Operation *op = value.getOwner();
  unsigned index = value.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getInitArgs()[index];
  if (isBranch(op))
    return getDestinationAround(value);
  if (auto write = dyn_cast<TapeWriteOp>(op))
    return write.getTape();
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return insert.getDest();
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insert.getDest();
  if (auto materialize =
          dyn_cast<bufferization::MaterializeInDestinationOp>(op))
    return materialize.getDest();
  if (auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op))
    return destinationStyle.getTiedOpOperand(value)->get();
  return {};
}

Value remat::getViewedTensor(OpResult value) {
  Operation *op = value.getOwner();
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return barrier.getValues()[value.getResultNumber()];
  if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp, tensor::CastOp, tensor::ReshapeOp>(op))
    return op->getOperand(0);
  if (auto read = dyn_cast<TapeReadOp>(op))
    return read.getTape();
  return {};
}

Value remat::getBufferSource(OpResult value) {
  Value destination = getDestination(value);
  return destination ? destination : getViewedTensor(value);
}

bool remat::replaceEmptyTensors(Operation *root) {
  bool changed = false;
  root->walk([&](tensor::EmptyOp empty) {
    OpBuilder builder(empty);
    auto destination = DestinationOp::create(
        builder, empty.getLoc(), empty.getType(), empty.getDynamicSizes());
    destination->setDiscardableAttrs(empty->getDiscardableAttrDictionary());
    empty.replaceAllUsesWith(destination.getResult());
    empty.erase();
    changed = true;
  });
  return changed;
}
