//===- Gemm.h - Products with bits that do not depend on threads *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the product and the convolution entry points.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CPU_GEMM_H
#define REMAT_RUNTIME_CPU_GEMM_H

#include "MemRef.h"

#include <cstdint>

namespace remat {

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A matrix in memory, of which at least one stride is 1.
template <typename T> struct Matrix {
  T *data;
  int64_t rows, columns;
  int64_t rowStride, columnStride;

  /// Returns true if rows are contiguous; if not, columns are.
  bool isRowMajor() const { return columnStride == 1 || columns == 1; }
  Matrix block(int64_t row, int64_t column, int64_t numRows,
               int64_t numColumns) const {
    return {data + row * rowStride + column * columnStride, numRows, numColumns,
            rowStride, columnStride};
  }
  Matrix transposed() const {
    return {data, columns, rows, columnStride, rowStride};
  }
};

/// c[i, j] = a[i, j] * b[i, j] (+ c[i, j] if `accumulate`) for every i, j of
/// the leading dimensions, as compiled programs ask for (Products.cpp).
template <typename T>
void gemm(const MemRef<T, 4> &a, const MemRef<T, 4> &b, const MemRef<T, 4> &c,
          bool accumulate);

} // namespace remat

#endif // REMAT_RUNTIME_CPU_GEMM_H
