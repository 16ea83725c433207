//===- Sizes.cpp - Counting elements and bytes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;

int64_t mlir::remat::estimateBytes(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    int64_t element = estimateBytes(shaped.getElementType());
    return shaped.hasRank() ? multiplySizes(shaped.getShape(), element)
                            : element;
  }
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * estimateBytes(complex.getElementType());
  if (isa<RngType>(type))
    return 16;
  return type.isIntOrFloat() ? llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)
                             : 8;
}
