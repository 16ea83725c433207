//===- RematRules.cpp - Derivatives of the remat dialect's markers --------===//
//
// Names and barriers are identities; their cotangents pass through.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
struct NameRule : DifferentiableOpInterface::ExternalModel<NameRule, NameOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    vjp.accumulate(0, vjp.cotangent(0));
    return success();
  }
};

/// The values that a barrier only waits for do not enter its results.
struct BarrierRule
    : DifferentiableOpInterface::ExternalModel<BarrierRule, BarrierOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    for (unsigned index : llvm::seq(op->getNumResults()))
      if (Value cotangent = vjp.cotangent(index))
        vjp.accumulate(index, cotangent);
    return success();
  }
};
} // namespace

void mlir::remat::registerRematRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *dialect) {
    NameOp::attachInterface<NameRule>(*context);
    BarrierOp::attachInterface<BarrierRule>(*context);
  });
}
