//===- CastMemory.h - Memory as another type --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_CASTMEMORY_H
#define REMAT_TRANSFORMS_PACKMEMORY_CASTMEMORY_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {

/// `value`, whose elements lie next to each other, as another such type of as
/// many elements or fewer.
inline Value castMemory(OpBuilder &builder, Location loc, Value value,
                        MemRefType type) {
  if (value.getType() == type)
    return value;
  auto [strides, offset] = type.getStridesAndOffset();
  return memref::ReinterpretCastOp::create(builder, loc, type, value, offset,
                                           type.getShape(), strides);
}

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_CASTMEMORY_H
