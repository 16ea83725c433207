//===- PrepareBufferization.cpp - What one-shot bufferization needs -------===//
//
// Without it bufferization rejects loops that yield a tensor in a new buffer,
// and writes into arguments that belong to the caller.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/PackMemory/Passes.h"
#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PREPAREBUFFERIZATIONPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

namespace {

/// Whether `value` is `carried` after operations that update it in place.
bool isUpdateOf(Value value, BlockArgument carried) {
  while (value && value != carried) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    Value destination = getDestination(result);
    value = destination || !result.getDefiningOp<BarrierOp>()
                ? destination
                : getViewedTensor(result);
  }
  return value == carried;
}

/// Makes `yielded`, the next value of `carried`, live in the buffer of it.
Value carryInPlace(OpBuilder &builder, Value yielded, BlockArgument carried) {
  if (!isa<RankedTensorType>(carried.getType()) || isUpdateOf(yielded, carried))
    return yielded;
  return bufferization::MaterializeInDestinationOp::create(
             builder, yielded.getLoc(), yielded, carried)
      ->getResult(0);
}

/// Whether `value` is an argument that the function writes at its end, such as
/// a model state.
bool isArgumentWrittenBack(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
         llvm::any_of(argument.getUses(), [](OpOperand &use) {
           auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(
               use.getOwner());
           return write && write.getDest() == use.get();
         });
}

/// A loop that updates such an argument's own buffer would have written it
/// before the end, which one-shot bufferization rejects: it works on a copy.
void startFromCopies(scf::ForOp loop) {
  OpBuilder builder(loop);
  for (OpOperand &init : loop.getInitArgsMutable())
    if (isArgumentWrittenBack(init.get()))
      init.set(bufferization::AllocTensorOp::create(
          builder, loop.getLoc(), cast<RankedTensorType>(init.get().getType()),
          /*dynamicSizes=*/ValueRange(), /*copy=*/init.get()));
}

void carryInPlace(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  OpBuilder builder(yield);
  for (auto [operand, carried] :
       llvm::zip(yield->getOpOperands(), loop.getRegionIterArgs()))
    operand.set(carryInPlace(builder, operand.get(), carried));
}

/// One-shot bufferization takes arguments for writable unless told otherwise.
void protectArguments(func::FuncOp function) {
  constexpr StringLiteral writable =
      bufferization::BufferizationDialect::kWritableAttrName;
  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (isa<TensorType>(function.getArgument(i).getType()) &&
        !function.getArgAttr(i, writable))
      function.setArgAttr(i, writable, builder.getBoolAttr(false));
}

struct PrepareBufferizationPass
    : public impl::PrepareBufferizationPassBase<PrepareBufferizationPass> {
  void runOnOperation() override {
    DenseSet<StringAttr> called;
    getOperation().walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op))
        called.insert(call.getCalleeAttr().getAttr());
      else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        startFromCopies(loop);
        carryInPlace(loop);
      }
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() &&
          !called.contains(function.getSymNameAttr()))
        protectArguments(function);
  }
};

} // namespace
} // namespace mlir::remat
