//===- Positions.h - Parts of a stack of tensors ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_POSITIONS_H
#define REMAT_TRANSFORMS_UTILS_POSITIONS_H

#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::remat {
/// Returns true if `slice` of a tensor of type `whole` is all that is at one
/// position of its leading dimension, which only the program knows.
bool isOnePosition(OffsetSizeAndStrideOpInterface slice,
                   RankedTensorType whole);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_POSITIONS_H
