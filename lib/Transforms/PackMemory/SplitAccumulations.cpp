//===- SplitAccumulations.cpp - Long sums in a buffer of their own --------===//
//
// One-shot bufferization compares all reads with all writes of values that
// share a buffer, once for each of them. A sum with a thousand terms (the
// gradient of a weight that a thousand layers share) would take minutes.
//
//===----------------------------------------------------------------------===//

#include "SplitAccumulations.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using linalg::LinalgOp;

/// So many operations stay together; shorter chains stay as they are.
static constexpr unsigned kMaxChain = 16;

/// The destination of the next operation in the chain, if that is all that
/// `result` is used for.
static OpOperand *getNextDestination(OpResult result) {
  if (!result.hasOneUse())
    return nullptr;
  OpOperand &use = *result.use_begin();
  auto next = dyn_cast<LinalgOp>(use.getOwner());
  bool isNext = next && next->getBlock() == result.getOwner()->getBlock() &&
                next.hasPureTensorSemantics() && next.isDpsInit(&use);
  return isNext ? &use : nullptr;
}

/// The destinations of operations that compute one after the other in the
/// buffer of `empty`.
static SmallVector<OpOperand *> getChain(tensor::EmptyOp empty) {
  SmallVector<OpOperand *> chain;
  OpOperand *destination = getNextDestination(empty->getOpResult(0));
  while (destination) {
    chain.push_back(destination);
    auto op = cast<LinalgOp>(destination->getOwner());
    destination = getNextDestination(op.getTiedOpResult(destination));
  }
  return chain;
}

void mlir::remat::splitAccumulations(func::FuncOp function) {
  function.walk([](tensor::EmptyOp empty) {
    auto type = cast<RankedTensorType>(empty.getType());
    SmallVector<OpOperand *> chain = getChain(empty);
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
    chain.front()->set(readBuffer());
    for (unsigned i = kMaxChain; i < chain.size(); i += kMaxChain) {
      Value sum = chain[i]->get();
      builder.setInsertionPointAfterValue(sum);
      auto write = bufferization::MaterializeInDestinationOp::create(
          builder, loc, /*result=*/Type(), sum, buffer);
      write.setRestrict(true);
      write.setWritable(true);
      chain[i]->set(readBuffer());
    }
    empty.erase();
  });
}
