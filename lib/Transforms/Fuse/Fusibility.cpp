//===- Fusibility.cpp - Whether fusion saves or costs something -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan asks this before it lets a kernel recompute a value that it reads,
// and fusion before it moves it there.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Cost.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

bool mlir::remat::readsNoTensor(LinalgOp op) {
  return llvm::none_of(op.getDpsInputs(), [](Value input) {
    return isa<ShapedType>(input.getType());
  });
}

/// Bits that an element takes; none for types that only their dialect knows.
static std::optional<unsigned> getBitWidth(Type type) {
  if (type.isIntOrFloat())
    return type.getIntOrFloatBitWidth();
  if (type.isIndex())
    return IndexType::kInternalStorageBitWidth;
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return std::nullopt;
}

bool mlir::remat::readsOneFullTensor(LinalgOp op) {
  SetVector<Value> full;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (!type || !op.getMatchingIndexingMap(input).isPermutation())
      continue;
    full.insert(input->get());
    for (Value init : op.getDpsInits()) {
      Type element = getElementTypeOrSelf(init);
      std::optional<unsigned> from = getBitWidth(type.getElementType());
      std::optional<unsigned> to = getBitWidth(element);
      // Masks are cheaper to make than to keep.
      if (!from || !to || (!element.isInteger(1) && *from > *to))
        return false;
    }
  }
  return full.size() <= 1;
}

bool mlir::remat::onlyWidens(LinalgOp consumer) {
  return isParallel(consumer) && isCheap(consumer) &&
         readsOneFullTensor(consumer) &&
         llvm::all_of(consumer.getDpsInits(), [&](Value init) {
           std::optional<unsigned> to = getBitWidth(getElementTypeOrSelf(init));
           return llvm::all_of(consumer.getDpsInputs(), [&](Value input) {
             std::optional<unsigned> from =
                 getBitWidth(getElementTypeOrSelf(input));
             return from && to && *from < *to;
           });
         });
}

bool mlir::remat::isOverwrittenBetween(LinalgOp producer, LinalgOp consumer,
                                       const OverwrittenValues *overwritten) {
  auto isIdentityRead = [&](OpOperand &init) {
    return isPointwise(producer) && isParallel(consumer) &&
           producer.getNumLoops() == consumer.getNumLoops() &&
           consumer.getMatchingIndexingMap(&init).isIdentity() &&
           llvm::all_of(consumer->getOpOperands(), [&](OpOperand &read) {
             return read.get().getDefiningOp() != producer ||
                    consumer.getMatchingIndexingMap(&read).isIdentity();
           });
  };
  Block *block = producer->getBlock();
  auto isBetween = [&](Operation *op) {
    Operation *ancestor = block->findAncestorOpInBlock(*op);
    return ancestor && producer->isBeforeInBlock(ancestor) &&
           ancestor->isBeforeInBlock(consumer);
  };
  llvm::SmallSetVector<Value, 8> operands(llvm::from_range,
                                          producer.getDpsInputs());
  return llvm::any_of(operands, [&](Value operand) {
    return isa<TensorType>(operand.getType()) &&
           (!overwritten || overwritten->contains(operand)) &&
           llvm::any_of(operand.getUses(), [&](OpOperand &use) {
             if (use.getOwner() == consumer)
               return isOverwritten(use) && !isIdentityRead(use);
             return isBetween(use.getOwner()) && isOverwritten(use);
           });
  });
}

// Tests of all operands come last: most producers fail before.
bool mlir::remat::canFuseCheaply(LinalgOp producer, LinalgOp consumer,
                                 const OverwrittenValues *overwritten) {
  return consumer->getBlock() == producer->getBlock() &&
         (isCheap(producer) || !isBroadcast(producer, consumer)) &&
         !isOverwrittenBetween(producer, consumer, overwritten) &&
         isFusableConsumer(consumer) && canFuse(producer, consumer);
}
