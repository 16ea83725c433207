//===- Positions.cpp - Parts of a stack of tensors ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/Positions.h"

using namespace mlir;

bool mlir::remat::isOnePosition(OffsetSizeAndStrideOpInterface slice,
                                RankedTensorType whole) {
  if (!slice.hasUnitStride() || !whole.hasStaticShape() ||
      whole.getRank() == 0 || !slice.isDynamicOffset(0) ||
      slice.isDynamicSize(0) || slice.getStaticSize(0) != 1)
    return false;
  return llvm::all_of(llvm::seq<unsigned>(1, whole.getRank()), [&](unsigned d) {
    return !slice.isDynamicOffset(d) && slice.getStaticOffset(d) == 0 &&
           !slice.isDynamicSize(d) &&
           slice.getStaticSize(d) == whole.getDimSize(d);
  });
}
