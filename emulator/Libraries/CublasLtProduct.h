//===- CublasLtProduct.h - A product of the emulated cuBLASLt --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_LIBRARIES_CUBLASLTPRODUCT_H
#define REMAT_EMULATOR_LIBRARIES_CUBLASLTPRODUCT_H

#include "remat/CUDA/CublasLt.h"

namespace remat::cuda {

/// A column-major matrix, or a batch of them.
struct EmulatedLayout {
  cudaDataType type;
  int64_t rows, columns, leadingDimension;
  int64_t batch = 1, batchStride = 0;

  size_t elementBytes() const {
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
  }
  /// From the first element to the last.
  size_t spanBytes() const {
    return elementBytes() * ((batch - 1) * batchStride +
                             (columns - 1) * leadingDimension + rows);
  }
  /// Of the elements; a matrix that a batch shares counts once.
  size_t bytes() const {
    return elementBytes() * rows * columns * (batchStride ? batch : 1);
  }
};

struct EmulatedMatmul {
  cublasComputeType_t compute;
  cudaDataType scale;
  bool isATransposed = false, isBTransposed = false;
};

/// A product with its operands, to be computed when the stream gets there.
struct EmulatedProduct {
  EmulatedMatmul matmul;
  EmulatedLayout a, b, c;
  const void *aData, *bData, *cData;
  void *dData;
  double alpha, beta;
  /// Overwritten, as an algorithm may.
  void *workspace;
  size_t workspaceBytes;

  /// d = alpha * a * b + beta * c.
  void compute() const;
  size_t bytesRead() const {
    return a.bytes() + b.bytes() + (beta != 0 ? c.bytes() : 0);
  }
};

} // namespace remat::cuda

#endif // REMAT_EMULATOR_LIBRARIES_CUBLASLTPRODUCT_H
