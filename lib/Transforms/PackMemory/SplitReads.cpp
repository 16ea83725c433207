//===- SplitReads.cpp - Many reads of one tensor in groups ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization collects, for each operand, all reads of values that
// may be in the same buffer: a weight that a thousand layers share costs it a
// million. There are no conflicts on a tensor that is never written, or only
// after its last read. Its users read it from its buffer, through one opaque
// value for each few of them, which bufferization forwards.
//===----------------------------------------------------------------------===//

#include "SplitReads.h"

#include "Buffers.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

/// The number of reads in a group.
static constexpr unsigned kGroupSize = 32;

/// Returns true if only `value`, and values that are computed in its place, can
/// be in its buffer.
static bool ownsBuffer(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    if (isEmptyTensor(result) || isa<arith::ConstantOp>(result.getOwner()))
      return true;
    auto op = dyn_cast<linalg::LinalgOp>(result.getOwner());
    if (!op || !op.hasPureTensorSemantics())
      return false;
    value = op.getDpsInitOperand(result.getResultNumber())->get();
    if (!value.hasOneUse())
      return false;
  }
  Block *block = cast<BlockArgument>(value).getOwner();
  return block->isEntryBlock() && isa<func::FuncOp>(block->getParentOp());
}

static bool isRead(OpOperand &use) {
  if (isa<tensor::ExtractOp>(use.getOwner()))
    return true;
  auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
  return op && op.hasPureTensorSemantics() && op.isDpsInput(&use);
}

static void splitReads(Value value) {
  if (!isa<RankedTensorType>(value.getType()) ||
      !value.hasNUsesOrMore(2 * kGroupSize) || !ownsBuffer(value))
    return;
  // Any other use may write the buffer, or create an alias of it.
  Block *block = value.getParentBlock();
  Operation *firstOther = nullptr;
  SmallVector<std::pair<Operation *, OpOperand *>> reads;
  for (OpOperand &use : value.getUses()) {
    Operation *ancestor = block->findAncestorOpInBlock(*use.getOwner());
    // Blocks have no order.
    if (!ancestor)
      return;
    if (isRead(use))
      reads.emplace_back(ancestor, &use);
    else if (!firstOther || ancestor->isBeforeInBlock(firstOther))
      firstOther = ancestor;
  }
  // Nothing writes a constant, or moves it.
  if (value.getDefiningOp<arith::ConstantOp>())
    firstOther = nullptr;
  // `-eliminate-empty-tensors` moves an inserted tensor to its destination.
  else if (firstOther && isa<OpResult>(value))
    return;
  llvm::erase_if(reads, [&](auto &read) {
    return firstOther && !read.first->isBeforeInBlock(firstOther);
  });
  llvm::sort(reads, [](const auto &a, const auto &b) {
    return a.first == b.first
               ? a.second->getOperandNumber() < b.second->getOperandNumber()
               : a.first->isBeforeInBlock(b.first);
  });

  auto type = cast<RankedTensorType>(value.getType());
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Value buffer =
      createBuffer(builder, value.getLoc(), value, /*readOnly=*/true);
  Value name;
  for (auto [number, read] : llvm::enumerate(reads)) {
    if (number % kGroupSize == 0)
      name = bufferization::ToTensorOp::create(builder, value.getLoc(), type,
                                               buffer, /*restrict=*/true);
    read.second->set(name);
  }
}

void mlir::remat::splitReads(func::FuncOp function) {
  SmallVector<Value> values;
  function.walk([&](Block *block) {
    llvm::append_range(values, block->getArguments());
    for (Operation &op : *block)
      llvm::append_range(values, op.getResults());
  });
  llvm::for_each(values, [](Value value) { ::splitReads(value); });
}
