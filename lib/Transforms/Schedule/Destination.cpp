//===- Destination.cpp - Which tensors will share a buffer ----------------===//
//
// One list of the operations that bufferize in place, for all who ask before.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Schedule/Destination.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

Value remat::getDestination(OpResult value) {
  Operation *op = value.getOwner();
  unsigned index = value.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getInitArgs()[index];
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
