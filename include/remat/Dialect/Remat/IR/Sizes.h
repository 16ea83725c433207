//===- Sizes.h - Counting elements and bytes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types may have more elements than 64 bits count. Products of their sizes stop
// at a limit instead of coming out small or negative.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_SIZES_H
#define REMAT_DIALECT_REMAT_IR_SIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::remat {
/// More than any memory holds; sums of thousands of it are still in range.
inline constexpr int64_t kSizeLimit = int64_t(1) << 50;

/// The product of `sizes`, dynamic ones as 1, and `factor`; at most the limit.
inline int64_t multiplySizes(ArrayRef<int64_t> sizes, int64_t factor = 1) {
  int64_t product = factor;
  bool isHuge = false;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size == 0)
      return 0;
    isHuge |= llvm::MulOverflow(product, size, product) || product > kSizeLimit;
    if (isHuge)
      product = kSizeLimit;
  }
  return std::min(product, kSizeLimit);
}

/// Bytes of a value of `type` in memory, where no data layout has to be met: at
/// most the limit. A dynamic dimension counts as 1, and an element that is no
/// number as 8 bytes.
int64_t estimateBytes(Type type);
} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_SIZES_H
