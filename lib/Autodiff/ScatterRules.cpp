//===- ScatterRules.cpp - The derivative of additions at positions --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scatter is linear in both of its operands. Its adjoint is a gather, as that
// of a gather is a scatter, and reads only where the updates were added.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

/// The elements of `sums` to which `op` adds its updates, in their shape and
/// type.
static Value gather(OpBuilder &builder, ScatterAddOp op, Value sums) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getUpdates().getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, op.getUpdates()),
      type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  auto kernel = linalg::GenericOp::create(
      builder, loc, type, ValueRange(), empty, identity,
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange) {
        SmallVector<Value> position;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          position.push_back(linalg::IndexOp::create(inner, loc, dim));
        IRMapping mapping;
        SmallVector<Value> indices =
            op.computeIndices(inner, position, mapping);
        Value element = tensor::ExtractOp::create(inner, loc, sums, indices);
        if (element.getType() != type.getElementType())
          element = arith::TruncFOp::create(inner, loc, type.getElementType(),
                                            element);
        linalg::YieldOp::create(inner, loc, element);
      });
  return kernel.getResult(0);
}

namespace {
struct ScatterAddRule
    : DifferentiableOpInterface::ExternalModel<ScatterAddRule, ScatterAddOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto scatter = cast<ScatterAddOp>(op);
    Value cotangent = vjp.cotangent(0);
    unsigned updates = scatter.getUpdatesMutable().getOperandNumber();
    unsigned init = scatter.getInitMutable().getOperandNumber();
    if (vjp.isWanted(updates))
      vjp.accumulate(updates, gather(vjp.builder, scatter, cotangent));
    if (vjp.isWanted(init))
      vjp.accumulate(init, cotangent);
    return success();
  }
};
} // namespace

void mlir::remat::registerScatterRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    ScatterAddOp::attachInterface<ScatterAddRule>(*context);
  });
}
