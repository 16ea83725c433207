//===- ConvertElements.cpp - Elements in another type ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

linalg::GenericOp mlir::remat::convertElementsInto(OpBuilder &builder,
                                                   Location loc, Value from,
                                                   Value to) {
  auto type = cast<ShapedType>(to.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  return linalg::GenericOp::create(
      builder, loc, isa<RankedTensorType>(type) ? TypeRange(type) : TypeRange(),
      from, to, ArrayRef<AffineMap>{identity, identity},
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange elements) {
        Value converted =
            convertScalarToDtype(inner, loc, elements[0], type.getElementType(),
                                 /*isUnsignedCast=*/false);
        linalg::YieldOp::create(inner, loc, converted);
      });
}

Value mlir::remat::convertElements(OpBuilder &builder, Location loc,
                                   Value tensor, Type type) {
  if (getElementTypeOrSelf(tensor) == type)
    return tensor;
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, tensor), type);
  return convertElementsInto(builder, loc, tensor, empty).getResult(0);
}
