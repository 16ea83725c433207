//===- Structured.h - Computations on tensors as kernels --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DECOMPOSE_STRUCTURED_H
#define REMAT_TRANSFORMS_DECOMPOSE_STRUCTURED_H

namespace mlir {
class Operation;
namespace remat {

/// Turns `op`, an operation of arith, math or complex on tensors of one shape
/// (and perhaps scalars), into a linalg.generic with the scalar operation in
/// its body. Returns null and does nothing if `op` is none.
Operation *replaceElementwiseByLinalg(Operation *op);

/// Decomposes what is decomposable in `root` (DecomposableOpInterface), and
/// does the same for all such operations; kernels that branch where they
/// concatenate become a tensor.concat.
void replaceByStructured(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_DECOMPOSE_STRUCTURED_H
