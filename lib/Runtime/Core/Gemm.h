//===- Gemm.h - Products with bits that do not depend on threads *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the product and the convolution entry points.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_GEMM_H
#define REMAT_RUNTIME_CORE_GEMM_H

#include "Context.h"
#include "MemRef.h"
#include "Narrow.h"

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
/// the leading dimensions, as compiled programs ask for (Products.h). All are
/// float or double, or each is float, BF16 or F16: then sums are float, and
/// rounded at their end.
template <typename A, typename B, typename C>
void gemm(Context &context, const MemRef<A, 4> &a, const MemRef<B, 4> &b,
          const MemRef<C, 4> &c, bool accumulate);

} // namespace remat

#endif // REMAT_RUNTIME_CORE_GEMM_H
