//===- MatrixProduct.h - A product as the library takes it -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs ask for batch x batch products of matrices with any strides.
// cuBLASLt takes one batch dimension, column-major matrices, and a flag for a
// transposed one. This is arithmetic on sizes and strides, without the library.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_MATRIXPRODUCT_H
#define REMAT_RUNTIME_CUDA_MATRIXPRODUCT_H

#include "MemRef.h"
#include "remat/CUDA/CublasLt.h"

#include <string>
#include <vector>

namespace remat::cuda {

struct ProductTypes {
  /// Of a and b, and of c.
  cudaDataType input, output;
  /// True if factors of f32 may be rounded to 10 bits.
  bool allowsTF32 = false;
};
int64_t byteWidth(cudaDataType type);

/// A column-major matrix in memory; of an operand, perhaps the transpose of
/// what is multiplied.
struct ProductMatrix {
  int64_t rows, columns, leadingDimension, batchStride;
  bool isTransposed;
  /// The alignment of addresses: a power of two, 16 at most. Buffers start
  /// at multiples of 256, so that this depends on the position in the buffer
  /// and not on where the buffer is.
  int64_t alignment;
};

/// c = a * b (+ c), column-major. Everything that an algorithm is chosen by.
struct ProductShape {
  ProductTypes types;
  int64_t m, n, k, batch;
  ProductMatrix a, b, c;

  /// `f32 8x128x64 in 4`, for messages.
  std::string str() const;
};
bool operator<(const ProductShape &left, const ProductShape &right);

struct ProductAddresses {
  CUdeviceptr a, b, c;
};

/// Products of one shape that a request takes: one, if the two batch dimensions
/// are one for the library. Empty if c is.
struct ProductRequest {
  ProductShape shape;
  std::vector<ProductAddresses> calls;
};

/// Data pointers are the device's. Strides as for lib/Runtime/CPU/Products.cpp.
ProductRequest makeProduct(ProductTypes types, const MemRef<char, 4> &a,
                           const MemRef<char, 4> &b, const MemRef<char, 4> &c);

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_MATRIXPRODUCT_H
