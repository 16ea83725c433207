//===- Gemm.cpp - Matrix products on our own threads ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of the right operand are packed, rows of the left one are read where
// they lie. An element is summed up in one order wherever it is computed, so
// that 1, 2 or 64 threads give the same bits.
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "Panels.h"

#include <algorithm>

using namespace remat;

namespace {

/// Below this many multiply-adds a task costs less than handing it over.
constexpr int64_t kMinTaskWork = int64_t(1) << 18;
/// Fewer rows than this read the right operand where it lies.
constexpr int64_t kFewRows = 32;

/// The matrix `index` of a memref of batch x batch x rows x columns.
template <typename T>
Matrix<T> matrixAt(const MemRef<T, 4> &memref, int64_t index,
                   int64_t innerBatch) {
  T *data = memref.data() + index / innerBatch * memref.strides[0] +
            index % innerBatch * memref.strides[1];
  return {data, memref.sizes[2], memref.sizes[3], memref.strides[2],
          memref.strides[3]};
}

/// Returns the cost of moving operands of a product: packing its right one,
/// where that is done, and columns of the result that do not lie side by side,
/// for each part of the sum.
template <typename T>
int64_t movingCost(const Matrix<T> &a, const Matrix<T> &b, const Matrix<T> &c) {
  // In units of copying an element of a row.
  constexpr int64_t kTransposing = 4, kScattering = 32;
  int64_t packing = !b.isRowMajor() ? kTransposing : a.rows <= kFewRows ? 0 : 1;
  return packing * b.rows * b.columns +
         (c.isRowMajor() ? 0
                         : kScattering * c.rows * c.columns *
                               ceilDiv(b.rows, kPanelDepth));
}

/// Returns true if c' = b' a' is computed rather than c = a b.
template <typename T>
bool isCheaperTransposed(const Matrix<T> &a, const Matrix<T> &b,
                         const Matrix<T> &c) {
  return movingCost(b.transposed(), a.transposed(), c.transposed()) <
         movingCost(a, b, c);
}

/// The part of a product that one task computes: some rows of some panels.
struct Part {
  int64_t firstRow, rows, firstPanel, panels;
};

/// How a product is cut into tasks. A task packs each panel for itself, for so
/// many rows that this costs little. Where the left operand's columns are
/// contiguous, it packs some rows of that for all its panels.
struct Parts {
  int64_t rowParts, panelParts, rows, panels;

  template <typename T>
  Parts(int64_t batch, const Matrix<T> &a, const PanelCut<T> &cut)
      : rows(a.rows), panels(cut.count) {
    if (a.isRowMajor()) {
      panelParts = panels;
      rowParts = std::clamp<int64_t>(ceilDiv(wantedTasks(), batch * panels), 1,
                                     std::max<int64_t>(1, rows / kMinTaskRows));
    } else {
      int64_t least = ceilDiv(rows, leftRows(a.columns));
      rowParts = std::clamp<int64_t>(ceilDiv(wantedTasks(), batch * panels),
                                     least, std::max(least, rows / kFewRows));
      int64_t tasks = batch * rowParts;
      panelParts = evenParts(
          tasks, std::min(panels, ceilDiv(wantedTasks(), tasks)), panels);
    }
  }
  int64_t count() const { return rowParts * panelParts; }
  Part at(int64_t index) const {
    int64_t row = index % rowParts, panel = index / rowParts;
    int64_t firstRow = row * rows / rowParts;
    int64_t firstPanel = panel * panels / panelParts;
    return {firstRow, (row + 1) * rows / rowParts - firstRow, firstPanel,
            (panel + 1) * panels / panelParts - firstPanel};
  }
};

template <typename T>
void multiplyPart(const Matrix<T> &a, const Matrix<T> &b, const Matrix<T> &c,
                  const PanelCut<T> &cut, const Part &part, bool accumulate) {
  T *results[TileShape<T>::kMostRows];
  int64_t offsets[TileShape<T>::kMostRows];
  for (int64_t k = 0, depth; k < a.columns; k += depth) {
    depth = std::min(kPanelDepth, a.columns - k);
    Matrix<T> left = a.block(part.firstRow, k, part.rows, depth);
    if (!left.isRowMajor() && part.panels > 1) {
      packPanel(left.transposed(), part.rows, leftBuffer<T>());
      left = Matrix<T>{leftBuffer<T>(), part.rows, depth, 1, part.rows};
    }
    for (int r = 0; r < TileShape<T>::kMostRows; ++r)
      offsets[r] = r * left.rowStride;
    for (int64_t p = part.firstPanel; p < part.firstPanel + part.panels; ++p) {
      const TileShape<T> &shape = cut.shapeOf(p);
      Matrix<T> right = b.block(k, cut.begin(p), depth, cut.width(p));
      if (!right.isRowMajor() || right.columns < shape.columns ||
          (part.rows > kFewRows && right.rowStride != shape.columns))
        right = packedPanel(right, shape.columns);
      EvenTiles tiles(part.rows, shape.rows);
      for (int64_t index = 0; index < tiles.count; ++index) {
        int64_t first = tiles.begin(index);
        int64_t rows = tiles.begin(index + 1) - first;
        for (int64_t r = 0; r < rows; ++r)
          results[r] = c.data + (part.firstRow + first + r) * c.rowStride +
                       cut.begin(p) * c.columnStride;
        const T *start = left.data + first * left.rowStride;
        const T *panel = right.data;
        computeTile(shape, rows, right.columns, c.columnStride,
                    Tile<T>{&start, offsets, left.columnStride, &panel,
                            right.rowStride, 1, depth, results,
                            accumulate || k > 0});
      }
    }
  }
}

/// The transposed product c' = b' a'.
template <typename T> MemRef<T, 4> transposed(MemRef<T, 4> memref) {
  std::swap(memref.sizes[2], memref.sizes[3]);
  std::swap(memref.strides[2], memref.strides[3]);
  return memref;
}

template <typename T> void clear(const Matrix<T> &c) {
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.columns; ++j)
      c.data[i * c.rowStride + j * c.columnStride] = 0;
}

} // namespace

template <typename T>
void remat::gemm(const MemRef<T, 4> &a, const MemRef<T, 4> &b,
                 const MemRef<T, 4> &c, bool accumulate) {
  int64_t inner = c.sizes[1], batch = c.sizes[0] * inner;
  int64_t m = c.sizes[2], n = c.sizes[3], k = a.sizes[3];
  if (batch * m * n == 0)
    return;
  if (k == 0) {
    for (int64_t index = 0; index < batch && !accumulate; ++index)
      clear(matrixAt(c, index, inner));
    return;
  }
  if (isCheaperTransposed(matrixAt(a, 0, inner), matrixAt(b, 0, inner),
                          matrixAt(c, 0, inner)))
    return gemm(transposed(b), transposed(a), transposed(c), accumulate);
  PanelCut<T> cut(n);
  Parts parts(batch, matrixAt(a, 0, inner), cut);
  int64_t tasks = batch * parts.count();
  // Small products go to a thread together.
  int64_t work = std::max<int64_t>(1, batch * m * n * k / tasks);
  int64_t grain = std::max<int64_t>(1, kMinTaskWork / work);
  int64_t groups = ceilDiv(tasks, grain);
  forEachTask<T>(groups, [&](int64_t group) {
    int64_t end = std::min(tasks, (group + 1) * grain);
    for (int64_t task = group * grain; task < end; ++task) {
      int64_t index = task / parts.count();
      multiplyPart(matrixAt(a, index, inner), matrixAt(b, index, inner),
                   matrixAt(c, index, inner), cut,
                   parts.at(task % parts.count()), accumulate);
    }
  });
}

template void remat::gemm(const MemRef<float, 4> &, const MemRef<float, 4> &,
                          const MemRef<float, 4> &, bool);
template void remat::gemm(const MemRef<double, 4> &, const MemRef<double, 4> &,
                          const MemRef<double, 4> &, bool);
