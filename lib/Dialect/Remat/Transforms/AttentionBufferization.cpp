//===- AttentionBufferization.cpp - Attention into its destinations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward overwrites its destinations, the backward adds to them: both in
// place, as linalg does.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
template <typename Op>
struct AttentionInterface
    : DstBufferizableOpInterfaceExternalModel<AttentionInterface<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return isa<remat::AttentionBackwardOp>(op) ||
           !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto attention = cast<Op>(op);
    if (attention.hasPureBufferSemantics())
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
    onBuffers.propertiesAttr = op->getPropertiesAsAttribute();
    onBuffers.addRegion()->takeBody(attention.getBody());
    rewriter.create(onBuffers);
    SmallVector<Value> inits;
    for (OpOperand &init : attention.getDpsInitsMutable())
      inits.push_back(buffers[init.getOperandNumber()]);
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};
} // namespace

void mlir::remat::registerAttentionBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    AttentionOp::attachInterface<AttentionInterface<AttentionOp>>(*context);
    AttentionBackwardOp::attachInterface<
        AttentionInterface<AttentionBackwardOp>>(*context);
  });
}
