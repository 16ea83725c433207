//===- EliminateEmptyTensors.cpp - Compute in the buffer of the result ----===//
//
// Upstream's pass analyzes the whole module, which takes as long as
// bufferization itself, before it looks for something to do.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/PackMemory/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

namespace mlir::remat {
#define GEN_PASS_DEF_ELIMINATEEMPTYTENSORSPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

namespace {

/// Whether the buffer of `value` may be that of a tensor.empty. `seen` holds
/// values of which it is not.
bool mayStartEmpty(Value value, DenseSet<Value> &seen) {
  while (seen.insert(value).second) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return !isa<FunctionOpInterface>(
          cast<BlockArgument>(value).getOwner()->getParentOp());
    auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op);
    if (!destinationStyle)
      return !isa<arith::ConstantOp, bufferization::AllocTensorOp,
                  bufferization::ToTensorOp>(op);
    value = destinationStyle.getTiedOpOperand(cast<OpResult>(value))->get();
  }
  return false;
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
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(rewriter, getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::remat
