//===- CublasLtProduct.h - A product of the emulated cuBLASLt --*- C++ -*-===//

#ifndef REMAT_EMULATOR_LIBRARIES_CUBLASLTPRODUCT_H
#define REMAT_EMULATOR_LIBRARIES_CUBLASLTPRODUCT_H

#include "remat/CUDA/CublasLt.h"

namespace remat::cuda {

/// A column-major matrix, or a batch of them.
struct EmulatedLayout {
  cudaDataType type;
  int64_t rows, columns, leadingDimension;
  int64_t batch = 1, batchStride = 0;
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
};

} // namespace remat::cuda

#endif // REMAT_EMULATOR_LIBRARIES_CUBLASLTPRODUCT_H
