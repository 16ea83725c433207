//===- CutLoops.h - Elementwise operations in more loops --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_CUTLOOPS_H
#define REMAT_TRANSFORMS_UTILS_CUTLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace mlir::remat {
/// A copy of `op` in which the loops `groups[i]`, of the given sizes, stand for
/// its loop i. `op` is elementwise, without indices, and its maps are projected
/// permutations. `view` returns an operand in a shape that has a dimension for
/// each loop, with those of the operand's dimensions; operands whose loops are
/// not cut stay as they are. Attributes are not copied.
linalg::GenericOp
cutLoops(OpBuilder &builder, linalg::LinalgOp op,
         ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> sizes,
         function_ref<Value(OpOperand &operand, ArrayRef<int64_t> shape,
                            ArrayRef<ReassociationIndices> dims)>
             view);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_CUTLOOPS_H
