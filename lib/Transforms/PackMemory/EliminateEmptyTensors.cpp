//===- EliminateEmptyTensors.cpp - Compute in the buffer of the result ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's pass analyzes the whole module, which takes as long as
// bufferization itself, before it looks for something to do, and it looks for
// tensor.empty, which CSE would merge after it.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/PackMemory/Passes.h"
#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

namespace mlir::remat {
#define GEN_PASS_DEF_ELIMINATEEMPTYTENSORSPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

namespace {

/// Returns true if the buffer of `value` may be that of a tensor.empty. `seen`
/// holds values for which it is not.
bool mayStartEmpty(Value value, DenseSet<Value> &seen) {
  while (seen.insert(value).second) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return !isa<FunctionOpInterface>(
          cast<BlockArgument>(value).getOwner()->getParentOp());
    auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op);
    if (!destinationStyle)
      // Upstream does not look through slices either.
      return !isa<arith::ConstantOp, bufferization::AllocTensorOp,
                  bufferization::ToTensorOp, tensor::ExtractSliceOp>(op);
    value = destinationStyle.getTiedOpOperand(cast<OpResult>(value))->get();
  }
  return false;
}

/// The tensor.empty in whose buffer `value` is computed, through the
/// destinations of all operations on the way; null if there is none.
Operation *getStart(Value value) {
  while (auto op = value.getDefiningOp<DestinationStyleOpInterface>())
    value = op.getTiedOpOperand(cast<OpResult>(value))->get();
  Operation *op = value.getDefiningOp();
  return isEmptyTensor(op) ? op : nullptr;
}

/// Makes the `tensor.empty`s that upstream looks for of destinations.
void replaceDestinations(Operation *root) {
  root->walk([](DestinationOp destination) {
    OpBuilder builder(destination);
    auto empty =
        tensor::EmptyOp::create(builder, destination.getLoc(),
                                cast<RankedTensorType>(destination.getType()),
                                destination.getDynamicSizes());
    empty->setDiscardableAttrs(destination->getDiscardableAttrDictionary());
    destination->replaceAllUsesWith(empty);
    destination.erase();
  });
}

/// Moves empty or filled tensors that others are inserted into before the
/// computation of those, where upstream needs them. It would move them itself,
/// one by one, each time with new positions for all operations of the block.
void hoistDestinations(Block &block) {
  if (llvm::none_of(block, llvm::IsaPred<SubsetInsertionOpInterface>))
    return;
  // A moved operation has the position of the one that it was moved before.
  DenseMap<Operation *, unsigned> positions;
  unsigned position = 0;
  for (Operation &op : block)
    positions[&op] = position++;
  for (Operation &op : block) {
    auto insertion = dyn_cast<SubsetInsertionOpInterface>(op);
    if (!insertion)
      continue;
    Operation *start = getStart(insertion.getSourceOperand().get());
    Operation *destination =
        insertion.getDestinationOperand().get().getDefiningOp();
    if (!start || !destination || start->getBlock() != &block)
      continue;
    SmallVector<Operation *, 2> moved;
    if (auto fill = dyn_cast<linalg::FillOp>(destination)) {
      Value value = fill.value();
      if (value.getParentBlock() == &block && value.getDefiningOp() &&
          positions.lookup(value.getDefiningOp()) >= positions.lookup(start))
        continue;
      moved.push_back(fill);
      destination = fill.output().getDefiningOp();
    }
    if (!isEmptyTensor(destination) || destination->getNumOperands() != 0)
      continue;
    moved.push_back(destination);
    if (!llvm::all_of(moved, [&](Operation *op) {
          return op->getBlock() == &block && op->hasOneUse();
        }))
      continue;
    for (Operation *op : moved) {
      if (positions.lookup(op) < positions.lookup(start))
        break;
      op->moveBefore(start);
      positions[op] = positions.lookup(start);
      start = op;
    }
  }
}

struct EliminateEmptyTensorsPass
    : public impl::EliminateEmptyTensorsPassBase<EliminateEmptyTensorsPass> {
  void runOnOperation() override {
    DenseSet<Value> seen;
    WalkResult found =
        getOperation().walk([&](SubsetInsertionOpInterface insertion) {
          return mayStartEmpty(insertion.getSourceOperand().get(), seen)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        });
    if (!found.wasInterrupted())
      return markAllAnalysesPreserved();
    getOperation().walk([](Block *block) { hoistDestinations(*block); });
    replaceDestinations(getOperation());
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(rewriter, getOperation())))
      return signalPassFailure();
    replaceEmptyTensors(getOperation());
  }
};

} // namespace
} // namespace mlir::remat
