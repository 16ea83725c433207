//===- Buffers.h - Tensors and the buffers that they will be in -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_BUFFERS_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_BUFFERS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::remat {

/// The type of the buffer that bufferization gives a tensor of this type.
inline MemRefType getBufferType(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// The buffer that `tensor` will be in. Unless it is `readOnly`, bufferization
/// takes this for a write.
inline Value createBuffer(OpBuilder &builder, Location loc, Value tensor,
                          bool readOnly) {
  return bufferization::ToBufferOp::create(
      builder, loc, getBufferType(cast<RankedTensorType>(tensor.getType())),
      tensor, readOnly);
}

/// Returns true if `use` is the source of a view, rather than a read: a reshape
/// reads its sizes.
inline bool isViewed(OpOperand &use) {
  Operation *op = use.getOwner();
  return isa<ViewLikeOpInterface>(op) &&
         !(isa<memref::ReshapeOp>(op) && use.getOperandNumber() == 1);
}

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_BUFFERS_H
