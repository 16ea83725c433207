//===- ConvRules.cpp - Derivatives of padded convolutions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is bilinear: its backward reads its two operands and nothing
// else.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The three are one trilinear form, sum of result(images, filters) *
/// cotangent, derived by one of its operands each. So are the derivatives of
/// these.
template <typename OpTy, typename ByLhs, typename ByRhs>
struct ConvRule
    : DifferentiableOpInterface::ExternalModel<ConvRule<OpTy, ByLhs, ByRhs>,
                                               OpTy> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    if (vjp.isWanted(1))
      vjp.accumulate(1, create<ByRhs>(cast<OpTy>(op), 1, vjp));
    if (vjp.isWanted(0))
      vjp.accumulate(0, create<ByLhs>(cast<OpTy>(op), 0, vjp));
    return success();
  }

private:
  /// The cotangent of `operand`, by a convolution of the same window.
  template <typename Adjoint>
  static Value create(OpTy op, unsigned operand, VJPContext &vjp) {
    OpBuilder &builder = vjp.builder;
    Location loc = op.getLoc();
    Value like = op->getOperand(operand);
    auto type = cast<RankedTensorType>(like.getType());
    Value empty = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, like),
        type.getElementType());
    auto [lhs, rhs] = getOperands<Adjoint>(op, vjp.cotangent(0));
    return Adjoint::create(builder, loc, type, lhs, rhs, empty, op.getStrides(),
                           op.getDilations(), op.getPadding(),
                           op.getChannelsFirst())
        ->getResult(0);
  }

  template <typename Adjoint>
  static std::pair<Value, Value> getOperands(OpTy op, Value cotangent) {
    auto [images, filters, results] = getRoles(op, cotangent);
    if constexpr (std::is_same_v<Adjoint, ConvOp>)
      return {images, filters};
    else if constexpr (std::is_same_v<Adjoint, ConvBackwardDataOp>)
      return {results, filters};
    else
      return {images, results};
  }

  /// Images, filters, and the cotangent of results.
  static std::tuple<Value, Value, Value> getRoles(OpTy op, Value cotangent) {
    if constexpr (std::is_same_v<OpTy, ConvOp>)
      return {op.getLhs(), op.getRhs(), cotangent};
    else if constexpr (std::is_same_v<OpTy, ConvBackwardDataOp>)
      return {cotangent, op.getRhs(), op.getLhs()};
    else
      return {op.getLhs(), cotangent, op.getRhs()};
  }
};

using ForwardRule = ConvRule<ConvOp, ConvBackwardDataOp, ConvBackwardFilterOp>;
using BackwardDataRule =
    ConvRule<ConvBackwardDataOp, ConvOp, ConvBackwardFilterOp>;
using BackwardFilterRule =
    ConvRule<ConvBackwardFilterOp, ConvBackwardDataOp, ConvOp>;
} // namespace

void mlir::remat::registerConvRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *dialect) {
    ConvOp::attachInterface<ForwardRule>(*context);
    ConvBackwardDataOp::attachInterface<BackwardDataRule>(*context);
    ConvBackwardFilterOp::attachInterface<BackwardFilterRule>(*context);
  });
}
