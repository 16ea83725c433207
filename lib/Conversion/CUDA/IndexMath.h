//===- IndexMath.h - Arithmetic on positions and sizes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of sizes that are known nothing is left to compute.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_INDEXMATH_H
#define REMAT_LIB_CONVERSION_CUDA_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::remat {

/// All numbers are of type index, and none is negative.
struct IndexMath {
  OpBuilder &b;
  Location loc;

  Value index(int64_t value) const {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value add(Value x, Value y) const {
    return b.createOrFold<arith::AddIOp>(loc, x, y);
  }
  Value sub(Value x, Value y) const {
    return b.createOrFold<arith::SubIOp>(loc, x, y);
  }
  Value mul(Value x, Value y) const {
    return b.createOrFold<arith::MulIOp>(loc, x, y);
  }
  Value div(Value x, Value y) const {
    return b.createOrFold<arith::DivUIOp>(loc, x, y);
  }
  Value rem(Value x, Value y) const {
    return isConstantIntValue(y, 1) ? index(0)
                                    : b.createOrFold<arith::RemUIOp>(loc, x, y);
  }
  Value ceilDiv(Value x, Value y) const {
    return div(add(x, sub(y, index(1))), y);
  }
  Value min(Value x, Value y) const {
    return b.createOrFold<arith::MinUIOp>(loc, x, y);
  }
  Value max(Value x, Value y) const {
    return b.createOrFold<arith::MaxUIOp>(loc, x, y);
  }
  Value product(ValueRange numbers) const {
    Value result = index(1);
    for (Value number : numbers)
      result = mul(result, number);
    return result;
  }
  Value isBelow(Value x, Value limit) const {
    return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x,
                                         limit);
  }
  /// The position with this number in a box of `sizes`, the last one counting
  /// fastest.
  SmallVector<Value> delinearize(Value number, ValueRange sizes) const {
    SmallVector<Value> position(sizes.size());
    for (size_t i = sizes.size(); i-- > 1; number = div(number, sizes[i]))
      position[i] = rem(number, sizes[i]);
    if (!position.empty())
      position.front() = number;
    return position;
  }
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_INDEXMATH_H
