//===- InPlace.cpp - Which values one buffer can hold in turn -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization copies a value that is overwritten before its last
// read. Where a value has to stay in one buffer (carried by a loop, returned by
// both regions of a branch) such a copy has to be made elsewhere, and before.
//===----------------------------------------------------------------------===//

#include "InPlace.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns true if `op` may read elements of `value`, which it updates, after
/// it has written them. Branches and loops read it inside, operation by
/// operation.
static bool readsWhatItWrites(Operation *op, Value value) {
  // A body reads at positions that it computes.
  if (isa<DestinationStyleOpInterface>(op) &&
      llvm::any_of(value.getUsers(),
                   [&](Operation *user) { return op->isProperAncestor(user); }))
    return true;
  SmallVector<OpOperand *> uses;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == value)
      uses.push_back(&operand);
  if (uses.size() < 2)
    return false;
  auto bufferizable = dyn_cast<bufferization::BufferizableOpInterface>(op);
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  return !bufferizable ||
         !bufferizable.bufferizesToElementwiseAccess(state, uses);
}

/// Returns true if an operation in `block` after `writer` uses `value`.
static bool isReadBehind(Value value, Operation *writer, Block *block) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return ancestor && writer->isBeforeInBlock(ancestor);
  });
}

bool mlir::remat::isUpdateOf(Value value, Value source, Block *block) {
  // The operation that overwrites the current version.
  Operation *writer = nullptr;
  while (value != source) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || result.getOwner()->getBlock() != block)
      return false;
    Operation *op = result.getOwner();
    auto loop = dyn_cast<scf::WhileOp>(op);
    Value before =
        loop ? getInit(loop, result.getResultNumber()) : getDestination(result);
    if (before)
      writer = op;
    else if (isa<BarrierOp>(op))
      before = getViewedTensor(result);
    if (!before || (writer && isReadBehind(before, writer, block)) ||
        (writer == op && readsWhatItWrites(op, before)))
      return false;
    if (isBranch(op))
      for (Region &region : op->getRegions()) {
        Block *inner = &region.front();
        Value yielded =
            inner->getTerminator()->getOperand(result.getResultNumber());
        if (!isUpdateOf(yielded, before, inner))
          return false;
      }
    value = before;
  }
  return true;
}

Value mlir::remat::getInit(scf::WhileOp loop, unsigned number) {
  if (number >= loop.getInits().size() ||
      !isUpdateOf(loop.getConditionOp().getArgs()[number],
                  loop.getBeforeArguments()[number], loop.getBeforeBody()) ||
      !isUpdateOf(loop.getYieldOp().getOperand(number),
                  loop.getAfterArguments()[number], loop.getAfterBody()))
    return {};
  return loop.getInits()[number];
}

bool mlir::remat::isOlder(Value value, Value other, Block *block) {
  Operation *newer = other.getDefiningOp();
  if (!newer || newer->getBlock() != block)
    return false;
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != block ||
         definition->isBeforeInBlock(newer);
}
