//===- CollectiveBufferization.cpp - Collectives into their destinations --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The destination is overwritten: bufferization must not copy what it held. A
// rank has sent an element of its first part before it writes the result's, so
// that these may share memory.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
template <typename OpT>
struct CollectiveInterface
    : DstBufferizableOpInterfaceExternalModel<CollectiveInterface<OpT>, OpT> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  bool bufferizesToElementwiseAccess(Operation *op, const AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto collective = cast<DestinationStyleOpInterface>(op);
    return isa<remat::AllReduceOp>(op) &&
           llvm::all_of(operands, [&](OpOperand *operand) {
             return operand->getOperandNumber() == 0 ||
                    collective.isDpsInit(operand);
           });
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto collective = cast<OpT>(op);
    if (collective.hasPureBufferSemantics())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    OperationState onBuffers(op->getLoc(), op->getName(), buffers, TypeRange(),
                             op->getAttrs());
    rewriter.create(onBuffers);
    replaceOpWithBufferizedValues(rewriter, op, buffers.back());
    return success();
  }
};
} // namespace

void mlir::remat::registerCollectiveBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    AllReduceOp::attachInterface<CollectiveInterface<AllReduceOp>>(*context);
    AllGatherOp::attachInterface<CollectiveInterface<AllGatherOp>>(*context);
  });
}
