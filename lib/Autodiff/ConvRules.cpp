//===- ConvRules.cpp - Derivatives of padded convolutions -----------------===//
//
// A convolution is bilinear: its backward reads its two operands and nothing
// else.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

/// A convolution of the same window that overwrites a tensor like `like`.
template <typename OpTy>
static Value createLike(VJPContext &vjp, Conv2DOp op, Value like, Value lhs,
                        Value rhs) {
  OpBuilder &builder = vjp.builder;
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(like.getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, like),
      type.getElementType());
  return OpTy::create(builder, loc, type, lhs, rhs, empty, op.getStrides(),
                      op.getDilations(), op.getPadding(), op.getChannelsFirst())
      ->getResult(0);
}

namespace {
struct Conv2DRule
    : DifferentiableOpInterface::ExternalModel<Conv2DRule, Conv2DOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto conv = cast<Conv2DOp>(op);
    Value cotangent = vjp.cotangent(0);
    if (vjp.isWanted(1))
      vjp.accumulate(
          1, createLike<Conv2DBackwardFilterOp>(vjp, conv, conv.getRhs(),
                                                conv.getLhs(), cotangent));
    if (vjp.isWanted(0))
      vjp.accumulate(
          0, createLike<Conv2DBackwardDataOp>(vjp, conv, conv.getLhs(),
                                              cotangent, conv.getRhs()));
    return success();
  }
};
} // namespace

void mlir::remat::registerConvRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *dialect) {
    Conv2DOp::attachInterface<Conv2DRule>(*context);
  });
}
