//===- Kernels.cpp - Kernels of an update ---------------------------------===//

#include "Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

Value mlir::remat::convertFloat(OpBuilder &builder, Location loc, Value value,
                                Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(builder, loc, type, value);
  // f16 to bf16 or back.
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, wide);
}

Value mlir::remat::emitF64(OpBuilder &builder, Location loc, double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF64FloatAttr(value));
}

Value mlir::remat::emitSumOfSquares(
    OpBuilder &builder, Location loc, Value tensor, ValueRange scalars,
    function_ref<Value(OpBuilder &, Location, Value, ValueRange)> prepare) {
  MLIRContext *context = builder.getContext();
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  Type f64 = builder.getF64Type();
  Value zero = emitF64(builder, loc, 0);
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{}, f64);
  Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  SmallVector<AffineMap> maps = {builder.getMultiDimIdentityMap(rank)};
  maps.append(scalars.size() + 1,
              AffineMap::get(rank, /*symbolCount=*/0, {}, context));
  SmallVector<Value> inputs = {tensor};
  llvm::append_range(inputs, scalars);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::reduction);
  Value sum =
      linalg::GenericOp::create(
          builder, loc, TypeRange{init.getType()}, inputs, ValueRange{init},
          maps, iterators,
          [&](OpBuilder &b, Location loc, ValueRange arguments) {
            Value element = arguments.front();
            if (prepare)
              element =
                  prepare(b, loc, element, arguments.drop_front().drop_back());
            element = convertFloat(b, loc, element, f64);
            Value square = arith::MulFOp::create(b, loc, element, element);
            Value next =
                arith::AddFOp::create(b, loc, arguments.back(), square);
            linalg::YieldOp::create(b, loc, next);
          })
          .getResult(0);
  return tensor::ExtractOp::create(builder, loc, sum, ValueRange{});
}

Value mlir::remat::emitClipFactor(OpBuilder &builder, Location loc, Value norm,
                                  double maxNorm) {
  Value safe =
      arith::AddFOp::create(builder, loc, norm, emitF64(builder, loc, 1e-6));
  Value factor =
      arith::DivFOp::create(builder, loc, emitF64(builder, loc, maxNorm), safe);
  return arith::MinimumFOp::create(builder, loc, factor,
                                   emitF64(builder, loc, 1));
}
