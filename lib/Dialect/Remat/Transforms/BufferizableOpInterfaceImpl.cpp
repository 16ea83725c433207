//===- BufferizableOpInterfaceImpl.cpp - Barriers and destinations --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier has done its work once buffers exist: the order of reads and writes
// is then fixed by memory. Its results are its operands' buffers. A destination
// is the buffer itself.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
/// Of operations that access no buffer.
template <typename Model, typename OpT>
struct WithoutAccesses
    : public BufferizableOpInterface::ExternalModel<Model, OpT> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }

  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
};

struct BarrierOpInterface
    : public WithoutAccesses<BarrierOpInterface, remat::BarrierOp> {
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    auto barrier = cast<remat::BarrierOp>(op);
    unsigned index = operand.getOperandNumber();
    if (index >= barrier.getValues().size())
      return {};
    return {{barrier->getResult(index), BufferRelation::Equivalent}};
  }

  /// The default asks each operand, which for all gradients is quadratic.
  AliasingOpOperandList getAliasingOpOperands(Operation *op, Value value,
                                              const AnalysisState &) const {
    unsigned index = cast<OpResult>(value).getResultNumber();
    return {{&op->getOpOperand(index), BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    SmallVector<Value> replacements;
    for (Value value : cast<remat::BarrierOp>(op).getValues()) {
      if (!isa<TensorType>(value.getType())) {
        replacements.push_back(value);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      replacements.push_back(*buffer);
    }
    replaceOpWithBufferizedValues(rewriter, op, replacements);
    return success();
  }
};

struct DestinationOpInterface
    : public BufferizableOpInterface::ExternalModel<DestinationOpInterface,
                                                    remat::DestinationOp> {
  bool bufferizesToAllocation(Operation *, Value) const { return true; }

  /// It has no contents, so that nothing reads what it writes.
  bool resultBufferizesToMemoryWrite(Operation *, OpResult,
                                     const AnalysisState &) const {
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    if (op->use_empty()) {
      rewriter.eraseOp(op);
      return success();
    }
    FailureOr<Value> buffer = allocateTensorForShapedValue(
        rewriter, op->getLoc(), op->getResult(0), options, state,
        /*copy=*/false);
    if (failed(buffer))
      return failure();
    rewriter.replaceOp(op, *buffer);
    return success();
  }
};

/// Nothing is planned on buffers.
struct SavedOpInterface
    : public WithoutAccesses<SavedOpInterface, remat::SavedOp> {
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &,
                          BufferizationState &) const {
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void remat::registerBufferizableOpInterfaceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    BarrierOp::attachInterface<BarrierOpInterface>(*context);
    DestinationOp::attachInterface<DestinationOpInterface>(*context);
    SavedOp::attachInterface<SavedOpInterface>(*context);
  });
}
