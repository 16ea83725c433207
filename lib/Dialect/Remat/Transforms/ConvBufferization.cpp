//===- ConvBufferization.cpp - Convolutions write into their destination --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The destination is overwritten: bufferization must not copy what it held.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
template <typename OpTy>
struct ConvInterface
    : DstBufferizableOpInterfaceExternalModel<ConvInterface<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto conv = cast<OpTy>(op);
    if (conv.hasPureBufferSemantics())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : conv->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    auto onBuffers = OpTy::create(rewriter, op->getLoc(), /*result=*/Type(),
                                  buffers[0], buffers[1], buffers[2],
                                  conv.getStrides(), conv.getDilations(),
                                  conv.getPadding(), conv.getChannelsFirst());
    onBuffers->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    replaceOpWithBufferizedValues(rewriter, op, buffers[2]);
    return success();
  }
};
} // namespace

void mlir::remat::registerConvBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    ConvOp::attachInterface<ConvInterface<ConvOp>>(*context);
    ConvBackwardDataOp::attachInterface<ConvInterface<ConvBackwardDataOp>>(
        *context);
    ConvBackwardFilterOp::attachInterface<ConvInterface<ConvBackwardFilterOp>>(
        *context);
  });
}
