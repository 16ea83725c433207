//===- TakeOver.cpp - Results take over dying operands --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization works in place where one value is all that becomes of
// another. Here it is known when each buffer dies, so a result may take the
// place of any operand whose elements it reads before it writes them.
//===----------------------------------------------------------------------===//

#include "TakeOver.h"

#include <numeric>

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The packable buffer of which `value` is all, or -1.
int TakeOver::getWhole(Value value) const {
  int index = lifetimes.getBuffer(value);
  if (index < 0)
    return -1;
  const Buffer &buffer = lifetimes.getBuffers()[index];
  bool isWhole = buffer.size >= 0 && buffer.escape.empty() &&
                 getByteSize(value.getType(), buffer.alloc) == buffer.size;
  return isWhole ? index : -1;
}

/// The buffer `value`, if it begins at `op` and has its own place, or -1.
int TakeOver::getStarting(Value value, Operation *op) const {
  int index = getWhole(value);
  if (index < 0 || placeOf[index] != unsigned(index) ||
      lifetimes.getBuffers()[index].lifetime.first !=
          lifetimes.getPositions(op).first ||
      lifetimes.isCaptured(index, op))
    return -1;
  return index;
}

/// Returns the buffer `value`, if it ends at `op` and is not taken over yet, or
/// -1.
int TakeOver::getDying(Value value, Operation *op) const {
  int index = getWhole(value);
  if (index < 0 || takenOver.test(index) ||
      lifetimes.getBuffers()[index].lifetime.last !=
          lifetimes.getPositions(op).second ||
      lifetimes.isCaptured(index, op))
    return -1;
  return index;
}

/// Returns true if both hold elements of one size at the same positions.
static bool haveSameElements(OpOperand &input, OpOperand &init) {
  auto inputType = cast<MemRefType>(input.get().getType());
  auto initType = cast<MemRefType>(init.get().getType());
  return inputType.getShape() == initType.getShape() &&
         inputType.getElementType().isIntOrFloat() &&
         initType.getElementType().isIntOrFloat() &&
         inputType.getElementTypeBitWidth() ==
             initType.getElementTypeBitWidth();
}

/// Returns true if every read of buffer `index` by `op` is of the element that
/// the same iteration writes, at `map`.
bool TakeOver::isReadWith(linalg::LinalgOp op, int index, AffineMap map) const {
  for (OpOperand &operand : op->getOpOperands()) {
    int other = lifetimes.getBuffer(operand.get());
    if (other == Lifetimes::severalBuffers)
      return false;
    if (other == index && (op.getMatchingIndexingMap(&operand) != map ||
                           getWhole(operand.get()) != index))
      return false;
  }
  return true;
}

bool TakeOver::canMerge(int operand, int result) const {
  MutableArrayRef<Buffer> buffers = lifetimes.getBuffers();
  return operand >= 0 && operand != result &&
         buffers[operand].alloc->getBlock() ==
             buffers[result].alloc->getBlock();
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

TakeOver::TakeOver(Lifetimes &lifetimes)
    : lifetimes(lifetimes), placeOf(lifetimes.getBuffers().size()),
      takenOver(placeOf.size()) {
  std::iota(placeOf.begin(), placeOf.end(), 0);
}

void TakeOver::run(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      visitElementwise(linalgOp);
    else if (auto reduce = dyn_cast<AllReduceOp>(op))
      visitAllReduce(reduce);
    else if (auto copy = dyn_cast<memref::CopyOp>(op))
      visitCopy(copy);
  });
}

void TakeOver::visitElementwise(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return;
  // Sums may be stored beside it: each iteration reads and writes an element of
  // its own.
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isPermutation())
      continue;
    int result = getStarting(init.get(), op);
    if (result < 0)
      continue;
    for (OpOperand *input : op.getDpsInputOperands()) {
      int operand = getDying(input->get(), op);
      if (!canMerge(operand, result) || !haveSameElements(*input, init) ||
          !isReadWith(op, operand, map))
        continue;
      merge(operand, result);
      break;
    }
  }
}

/// The first part is sent, element by element, before the result is written.
void TakeOver::visitAllReduce(AllReduceOp op) {
  if (!op.hasPureBufferSemantics())
    return;
  Value first = op.getInputs().front();
  int result = getStarting(op.getInit(), op);
  int operand = getDying(first, op);
  if (result < 0 || !canMerge(operand, result) ||
      first.getType() != op.getInit().getType() ||
      llvm::any_of(
          op.getInputs().drop_front(),
          [&](Value input) {
            int other = lifetimes.getBuffer(input);
            return other == operand || other == Lifetimes::severalBuffers;
          }))
    return;
  merge(operand, result);
}

void TakeOver::visitCopy(memref::CopyOp copy) {
  int result = getStarting(copy.getTarget(), copy);
  int operand = getDying(copy.getSource(), copy);
  if (result < 0 || !canMerge(operand, result))
    return;
  merge(operand, result);
  needlessCopies.insert(copy);
}

void TakeOver::merge(int operand, int result) {
  takenOver.set(operand);
  placeOf[result] = placeOf[operand];
}
