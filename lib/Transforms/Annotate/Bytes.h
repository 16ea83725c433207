//===- Bytes.h - Sizes of values --------------------------------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_ANNOTATE_BYTES_H
#define REMAT_LIB_TRANSFORMS_ANNOTATE_BYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::remat {

/// Bytes of a value of `type` in memory; a dynamic dimension counts as 1.
inline int64_t getBytes(Type type) {
  int64_t count = 1;
  if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasRank())
    for (int64_t size : shaped.getShape())
      count *= ShapedType::isDynamic(size) ? 1 : size;
  Type element = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * count * getBytes(complex.getElementType());
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return count * ((bits + 7) / 8);
}

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_ANNOTATE_BYTES_H
