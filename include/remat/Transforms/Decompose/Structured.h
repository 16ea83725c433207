//===- Structured.h - Elementwise ops on tensors as kernels -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DECOMPOSE_STRUCTURED_H
#define REMAT_TRANSFORMS_DECOMPOSE_STRUCTURED_H

namespace mlir {
class Operation;
namespace remat {

/// Turns `op`, an operation of arith, math or complex on tensors of one shape
/// (and perhaps scalars), into a linalg.generic with the scalar operation in
/// its body. Returns null and changes nothing for any other operation.
Operation *replaceElementwiseByLinalg(Operation *op);

/// Decomposes the decomposable operations in `root` (DecomposableOpInterface)
/// and turns all elementwise operations on tensors into kernels; kernels that
/// concatenate by branches become a tensor.concat.
void replaceByStructured(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_DECOMPOSE_STRUCTURED_H
