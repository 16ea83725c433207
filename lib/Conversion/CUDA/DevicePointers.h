//===- DevicePointers.h - Memory and scalars as kernels get them *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels take pointers only. What a memref's layout means is computed on the
// host; inside of the kernel, memory is one-dimensional.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_DEVICEPOINTERS_H
#define REMAT_LIB_CONVERSION_CUDA_DEVICEPOINTERS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {

/// Bytes of an element: a byte for a boolean, two words for a random state.
int64_t getBytesInMemory(Type type);

/// Sizes, strides and offset of a memref, in elements.
struct StridedMetadata {
  SmallVector<OpFoldResult> sizes, strides;
  OpFoldResult offset;
};
StridedMetadata getStridedMetadata(OpBuilder &builder, Location loc,
                                   Value memref);

/// Bytes from the first to the last element of a memref, if they are known.
std::optional<int64_t> getSpannedBytes(Value memref);

/// On the host: the address of element `offset` of the memref's buffer.
Value createDevicePointer(OpBuilder &builder, Location loc, Value memref,
                          OpFoldResult offset);

/// In a kernel: the memory from `pointer` on as `memref<?xT>`, for booleans as
/// `memref<?xi8>` unless `booleansAreBytes` is false.
Value createFlatMemRef(OpBuilder &builder, Location loc, Value pointer,
                       Type elementType, bool booleansAreBytes = true);

/// On the host: `scalar` as an argument of a launch. The kernel gets an address
/// in the step block, where it finds this step's value: `scalar` cast to a
/// pointer stands for it until launches are lowered.
Value createStepScalar(OpBuilder &builder, Location loc, Value scalar);
/// The scalar that a pointer stands for; null if it is an address.
Value getStepScalar(Value pointer);
/// In a kernel: that value.
Value loadStepScalar(OpBuilder &builder, Location loc, Value pointer,
                     Type type);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_DEVICEPOINTERS_H
