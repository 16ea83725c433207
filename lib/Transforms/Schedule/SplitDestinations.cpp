//===- SplitDestinations.cpp - A destination for every kernel -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without it two accumulations that start from one zero tensor cost a copy, and
// the zeros stay alive between them.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Schedule/Destination.h"
#include "remat/Transforms/Schedule/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITDESTINATIONSPASS
#include "remat/Transforms/Schedule/Passes.h.inc"

namespace {

/// Returns true if `op` makes a tensor whose computation is cheaper than
/// keeping it.
bool isCheapDestination(Operation *op) {
  if (isEmptyTensor(op))
    return true;
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill && fill.getNumResults() == 1 &&
         isEmptyTensor(fill.getDpsInits()[0]);
}

/// Returns true if `use` writes into the tensor, or inserts it into another
/// one, where a fill of its own can then write instead.
bool isDestination(OpOperand &use) {
  if (isa<scf::ForOp, tensor::InsertSliceOp>(use.getOwner()))
    return true;
  auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
  return destinationStyle && destinationStyle.isDpsInit(&use);
}

/// Clones `op` for each use as a destination. Returns true if anything changed.
bool splitDestination(Operation *op) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getUses())
    if (isDestination(use))
      uses.push_back(&use);
  if (uses.empty())
    return false;
  // One that a loop reads from outside would be copied in each iteration.
  if (op->hasOneUse() && uses[0]->getOwner()->getBlock() == op->getBlock())
    return false;
  for (OpOperand *use : uses) {
    OpBuilder builder(use->getOwner());
    use->set(builder.clone(*op)->getResult(0));
  }
  if (op->use_empty())
    op->erase();
  return true;
}

/// Removes tensors without contents from `barrier`: it kept the fills of two
/// recomputes from being merged, which no later pass does, and it would keep
/// them in one buffer. Returns true if there was one.
bool releaseEmptyTensors(BarrierOp barrier) {
  SmallVector<Value> values;
  SmallVector<OpResult> results;
  for (OpResult result : barrier->getOpResults()) {
    Value value = barrier.getValues()[result.getResultNumber()];
    if (isEmptyTensor(value)) {
      result.replaceAllUsesWith(value);
      continue;
    }
    values.push_back(value);
    results.push_back(result);
  }
  if (values.size() == barrier.getValues().size())
    return false;
  if (!values.empty()) {
    OpBuilder builder(barrier);
    auto rest = BarrierOp::create(builder, barrier.getLoc(), values,
                                  barrier.getAfter(), barrier.getRepeated());
    rest->setDiscardableAttrs(barrier->getDiscardableAttrDictionary());
    for (auto [result, replacement] : llvm::zip(results, rest.getResults()))
      result.replaceAllUsesWith(replacement);
  }
  barrier.erase();
  return true;
}

struct SplitDestinationsPass
    : public impl::SplitDestinationsPassBase<SplitDestinationsPass> {
  void runOnOperation() override {
    bool changed = false;
    getOperation()->walk(
        [&](BarrierOp barrier) { changed |= releaseEmptyTensors(barrier); });
    SmallVector<Operation *> fills, empties;
    getOperation()->walk([&](Operation *op) {
      if (isCheapDestination(op))
        (isEmptyTensor(op) ? empties : fills).push_back(op);
    });
    // Fills first: each copy then asks for an empty tensor of its own.
    for (ArrayRef<Operation *> destinations : {fills, empties})
      for (Operation *destination : destinations)
        changed |= splitDestination(destination);
    changed |= replaceEmptyTensors(getOperation());
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::remat
