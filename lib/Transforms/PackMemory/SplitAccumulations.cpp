//===- SplitAccumulations.cpp - Long chains in a buffer of their own ------===//
//
// One-shot bufferization compares all reads with all writes of values that
// share a buffer, once for each of them. A thousand operations that compute in
// one another's results (the gradient of a weight that a thousand layers share,
// the cotangent that passes a thousand skip connections) would take minutes.
//
//===----------------------------------------------------------------------===//

#include "SplitAccumulations.h"

#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

using namespace mlir;
using linalg::LinalgOp;

/// So many operations stay together; shorter chains stay as they are.
static constexpr unsigned kMaxChain = 16;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The result that takes over the buffer of the operand `use`; null if its
/// owner is of no kind that computes in an operand.
static OpResult getTiedResult(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return use.getOperandNumber() < loop.getNumControlOperands()
               ? OpResult()
               : loop.getTiedLoopResult(&use);
  auto linalgOp = dyn_cast<LinalgOp>(op);
  if (linalgOp && linalgOp.hasPureTensorSemantics() && linalgOp.isDpsInit(&use))
    return linalgOp.getTiedOpResult(&use);
  return {};
}

/// Whether all that `use` does is read, in `block` and before `next`: nothing
/// that it leads to needs the buffer when `next` writes.
static bool isReadBefore(OpOperand &use, Operation *next) {
  Operation *op = use.getOwner();
  Operation *ancestor = next->getBlock()->findAncestorOpInBlock(*op);
  if (!ancestor || !ancestor->isBeforeInBlock(next))
    return false;
  if (isa<tensor::ExtractOp>(op))
    return true;
  // An insertion may be computed where it is inserted, instead.
  if (isa<SubsetInsertionOpInterface>(op))
    return false;
  if (auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op))
    return destinationStyle.isDpsInput(&use);
  bool isView = false;
  for (OpResult result : op->getOpResults()) {
    if (remat::getViewedTensor(result) != use.get())
      continue;
    isView = true;
    if (!llvm::all_of(result.getUses(),
                      [&](OpOperand &use) { return isReadBefore(use, next); }))
      return false;
  }
  return isView;
}

/// One step of a chain.
struct Link {
  OpOperand *destination;
  /// Whether the operation reads the value besides computing in it.
  bool isRead = false;
};

/// The operation that computes in the buffer of `value`, if all others that use
/// `value` have read it by then: what is computed later may not be kept from
/// overwriting it.
static std::optional<Link> getNext(OpResult value) {
  std::optional<Link> next;
  for (OpOperand &use : value.getUses()) {
    if (!getTiedResult(use) ||
        use.getOwner()->getBlock() != value.getOwner()->getBlock())
      continue;
    if (next)
      return std::nullopt;
    next = Link{&use};
  }
  if (!next)
    return std::nullopt;
  Operation *op = next->destination->getOwner();
  for (OpOperand &use : value.getUses()) {
    if (&use == next->destination)
      continue;
    if (use.getOwner() == op && isa<LinalgOp>(op))
      next->isRead = true;
    else if (!isReadBefore(use, op))
      return std::nullopt;
  }
  return next;
}

/// The steps of operations that compute one after the other in the buffer of
/// `empty`, unless what they come to may be computed in yet another buffer.
static SmallVector<Link> getChain(tensor::EmptyOp empty) {
  SmallVector<Link> chain;
  OpResult value = empty->getOpResult(0);
  while (std::optional<Link> next = getNext(value)) {
    chain.push_back(*next);
    value = getTiedResult(*next->destination);
  }
  if (llvm::any_of(value.getUsers(), llvm::IsaPred<SubsetInsertionOpInterface>))
    chain.clear();
  return chain;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

void mlir::remat::splitAccumulations(func::FuncOp function) {
  function.walk([](tensor::EmptyOp empty) {
    auto type = cast<RankedTensorType>(empty.getType());
    SmallVector<Link> chain = getChain(empty);
    if (!type.hasStaticShape() || chain.size() <= kMaxChain)
      return;
    OpBuilder builder(empty);
    Location loc = empty.getLoc();
    // Aligned as bufferization aligns the others.
    Value buffer = memref::AllocOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        builder.getI64IntegerAttr(
            bufferization::BufferizationOptions().bufferAlignment));
    auto readBuffer = [&] {
      return bufferization::ToTensorOp::create(builder, loc, type, buffer,
                                               /*restrict=*/true,
                                               /*writable=*/true);
    };
    chain.front().destination->set(readBuffer());
    unsigned length = 0;
    for (Link link : chain) {
      // One that reads the value would not be seen to read what it overwrites.
      if (length++ < kMaxChain || link.isRead)
        continue;
      length = 1;
      Value sum = link.destination->get();
      builder.setInsertionPointAfterValue(sum);
      auto write = bufferization::MaterializeInDestinationOp::create(
          builder, loc, /*result=*/Type(), sum, buffer);
      write.setRestrict(true);
      write.setWritable(true);
      link.destination->set(readBuffer());
    }
    empty.erase();
  });
}
