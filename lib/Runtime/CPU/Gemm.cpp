//===- Gemm.cpp - Matrix products on our own threads ----------------------===//
//
// OpenBLAS would partition a product by the number of threads, and what it adds
// in which order could follow. Here the partition is a function of the shape,
// so that 1, 2 or 64 threads give the same bits.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace remat;

namespace {

/// Tiles in which OpenBLAS reaches its peak (both panels fit its caches).
constexpr int64_t kMaxTile = 512;
/// Below this many multiply-adds a task costs less than handing it over.
constexpr int64_t kMinTaskWork = int64_t(1) << 20;
/// Tiles are multiples of the widest micro-kernels.
constexpr int64_t kTileMultiple = 16;
/// Enough tasks for an even load on many cores.
constexpr int64_t kWantedTasks = 16;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Cuts `size` into equal parts of at most `limit`, each a multiple of
/// kTileMultiple.
int64_t evenTile(int64_t size, int64_t limit) {
  int64_t parts = std::max<int64_t>(1, ceilDiv(size, limit));
  return ceilDiv(ceilDiv(size, parts), kTileMultiple) * kTileMultiple;
}

struct Tiling {
  int64_t rows, columns;
};

/// The tile of one product. A function of the shape alone.
Tiling chooseTiling(int64_t batch, int64_t m, int64_t n, int64_t k) {
  Tiling tile{evenTile(m, kMaxTile), evenTile(n, kMaxTile)};
  while (batch * ceilDiv(m, tile.rows) * ceilDiv(n, tile.columns) <
             kWantedTasks &&
         tile.rows * tile.columns * k >= 2 * kMinTaskWork) {
    // Halving the longer side keeps what a task packs small against what it
    // computes.
    int64_t &side = tile.rows >= tile.columns ? tile.rows : tile.columns;
    int64_t half = evenTile(side, ceilDiv(side, 2));
    if (half >= side)
      break;
    side = half;
  }
  return tile;
}

/// The matrix `index` of a memref of batch x batch x rows x columns.
template <typename T>
Matrix<T> matrixAt(const MemRef<T, 4> &memref, int64_t index,
                   int64_t innerBatch) {
  T *data = memref.data() + index / innerBatch * memref.strides[0] +
            index % innerBatch * memref.strides[1];
  return {data, memref.sizes[2], memref.sizes[3], memref.strides[2],
          memref.strides[3]};
}

} // namespace

template <typename T>
void remat::gemm(const MemRef<T, 4> &a, const MemRef<T, 4> &b,
                 const MemRef<T, 4> &c, bool accumulate) {
  int64_t batch = c.sizes[0] * c.sizes[1];
  int64_t m = c.sizes[2], n = c.sizes[3], k = a.sizes[3];
  if (batch * m * n == 0)
    return;
  Tiling tile = chooseTiling(batch, m, n, k);
  int64_t rowTiles = ceilDiv(m, tile.rows);
  int64_t columnTiles = ceilDiv(n, tile.columns);
  int64_t tasks = batch * rowTiles * columnTiles;
  // Small products of a batch go to a thread together: by shape again.
  int64_t work = std::max<int64_t>(1, std::min(tile.rows, m) *
                                          std::min(tile.columns, n) * k);
  int64_t grain = std::max<int64_t>(1, kMinTaskWork / 4 / work);
  int64_t groups = ceilDiv(tasks, grain);
#pragma omp parallel for schedule(dynamic) if (groups > 1)
  for (int64_t group = 0; group < groups; ++group) {
    int64_t end = std::min(tasks, (group + 1) * grain);
    for (int64_t task = group * grain; task < end; ++task) {
      int64_t index = task / (rowTiles * columnTiles);
      int64_t row = task / columnTiles % rowTiles * tile.rows;
      int64_t column = task % columnTiles * tile.columns;
      int64_t rows = std::min(tile.rows, m - row);
      int64_t columns = std::min(tile.columns, n - column);
      multiply(matrixAt(a, index, c.sizes[1]).block(row, 0, rows, k),
               matrixAt(b, index, c.sizes[1]).block(0, column, k, columns),
               matrixAt(c, index, c.sizes[1]).block(row, column, rows, columns),
               accumulate);
    }
  }
}

template void remat::gemm(const MemRef<float, 4> &, const MemRef<float, 4> &,
                          const MemRef<float, 4> &, bool);
template void remat::gemm(const MemRef<double, 4> &, const MemRef<double, 4> &,
                          const MemRef<double, 4> &, bool);

/// The leading dimension as BLAS wants it: what a single row or column has for
/// a stride does not matter to us but is checked there.
static int leadingDimension(int64_t stride, int64_t extent, int64_t count) {
  return static_cast<int>(count == 1 ? std::max<int64_t>(extent, 1) : stride);
}

template <typename T>
void remat::multiply(const Matrix<T> &a, const Matrix<T> &b, const Matrix<T> &c,
                     bool accumulate) {
  if (a.columns == 0) {
    for (int64_t i = 0; !accumulate && i < c.rows; ++i)
      for (int64_t j = 0; j < c.columns; ++j)
        c.data[i * c.rowStride + j * c.columnStride] = 0;
    return;
  }
  // A column-major c is the row-major transpose: c' = b' a'.
  if (!c.isRowMajor()) {
    auto transpose = [](const Matrix<T> &x) {
      return Matrix<T>{x.data, x.columns, x.rows, x.columnStride, x.rowStride};
    };
    return multiply(transpose(b), transpose(a), transpose(c), accumulate);
  }
  auto lead = [](const Matrix<T> &x) {
    return x.isRowMajor() ? leadingDimension(x.rowStride, x.columns, x.rows)
                          : leadingDimension(x.columnStride, x.rows, x.columns);
  };
  gemmOf<T>(blas())(kRowMajor, a.isRowMajor() ? kNoTranspose : kTranspose,
                    b.isRowMajor() ? kNoTranspose : kTranspose,
                    static_cast<int>(c.rows), static_cast<int>(c.columns),
                    static_cast<int>(a.columns), T(1), a.data, lead(a), b.data,
                    lead(b), T(accumulate), c.data, lead(c));
}

template void remat::multiply(const Matrix<float> &, const Matrix<float> &,
                              const Matrix<float> &, bool);
template void remat::multiply(const Matrix<double> &, const Matrix<double> &,
                              const Matrix<double> &, bool);
