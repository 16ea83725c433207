//===- TypeCasts.h - Values of types that are one in LLVM -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_TYPECASTS_H
#define REMAT_LIB_CONVERSION_TYPECASTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {

/// `value` as one of `type`, which is the same in LLVM or becomes it.
inline Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_TYPECASTS_H
