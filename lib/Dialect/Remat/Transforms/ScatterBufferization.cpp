//===- ScatterBufferization.cpp - Scatters add to their destination -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table is large, and few of its rows change: it must stay where it is. What
// the body reads is bufferized operation by operation, as in linalg's bodies;
// one that reads the table itself makes bufferization keep the old values.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
struct ScatterAddInterface
    : DstBufferizableOpInterfaceExternalModel<ScatterAddInterface,
                                              remat::ScatterAddOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto scatter = cast<remat::ScatterAddOp>(op);
    if (scatter.hasPureBufferSemantics())
      return success();
    FailureOr<Value> updates =
        getBuffer(rewriter, scatter.getUpdates(), options, state);
    FailureOr<Value> init =
        getBuffer(rewriter, scatter.getInit(), options, state);
    if (failed(updates) || failed(init))
      return failure();
    auto onBuffers = remat::ScatterAddOp::create(
        rewriter, op->getLoc(), /*result=*/Type(), *updates, *init);
    onBuffers->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    onBuffers.getBody().takeBody(scatter.getBody());
    replaceOpWithBufferizedValues(rewriter, op, *init);
    return success();
  }
};
} // namespace

void mlir::remat::registerScatterBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    ScatterAddOp::attachInterface<ScatterAddInterface>(*context);
  });
}
