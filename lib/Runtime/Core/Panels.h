//===- Panels.h - The operand that a product packs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A panel is a part of the right operand as wide as a tile: for each index of
// the sum a row of as many columns, padded with zeros. All
// tiles of a column of tiles read it.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_PANELS_H
#define REMAT_RUNTIME_CORE_PANELS_H

#include "Gemm.h"
#include "TileKernels.h"

#include <algorithm>

namespace remat {

/// So many terms are added up in a chain, which is then added to the result: a
/// panel of them is small enough for a second-level cache, and sums of many
/// terms lose less than in one chain.
constexpr int64_t kPanelDepth = 512;

/// Enough tasks for an even load on all threads; more would only pack more. How
/// results are shared out does not change the sum that each of them is.
int64_t wantedTasks(const Team &team);

/// As few parts of each of `count` tasks, between `least` and `most`, as give
/// all threads about as much to do: where a part costs a lot.
int64_t evenParts(const Team &team, int64_t count, int64_t least, int64_t most);
/// A task packs its panel itself: for so many rows that this costs little.
constexpr int64_t kMinTaskRows = 192;

/// Rows of a left operand that are packed together, more where the sum has
/// fewer than `kPanelDepth` terms: not a power of two, so that they use all of
/// a cache.
constexpr int64_t kLeftRows = 264;
constexpr int64_t leftRows(int64_t depth) {
  return kLeftRows * kPanelDepth / std::min(kPanelDepth, depth);
}

/// The most panels of a right operand that are packed at once.
constexpr int64_t kMostPanels = 16;

/// A thread's memory for panels: as much as fits into its second-level cache
/// beside what else is read, at least one of `kPanelDepth` rows.
template <typename T> int64_t panelBufferSize(const Team &team) {
  return std::max<int64_t>(team.panelBytes / static_cast<int64_t>(sizeof(T)),
                           kPanelDepth * TileShapes<T>::kMostColumns);
}
template <typename T> T *panelBuffer(Context &context) {
  return static_cast<T *>(context.panels);
}

/// The same for `leftRows(depth)` rows of a left operand.
template <typename T> constexpr int64_t leftBufferSize() {
  return kPanelDepth * kLeftRows;
}
template <typename T> T *leftBuffer(Context &context) {
  return static_cast<T *>(context.left);
}

/// And for the sums of `kSumPanels` panels of `kLeftRows` rows.
constexpr int64_t kSumPanels = 8;
template <typename T> constexpr int64_t sumsBufferSize() {
  return kSumPanels * kLeftRows * TileShapes<T>::kMostColumns;
}
template <typename T> T *sumsBuffer(Context &context) {
  return static_cast<T *>(context.sums);
}

/// Calls `body(context, task)` for each of `count` tasks, on all threads.
template <typename Body>
void forEachTask(Context &context, int64_t count, const Body &body) {
  parallelFor(context, count, count, body);
}

/// Writes panels to `to`, one after the other: rows of `width` columns of
/// `right`, of `lastWidth` with zeros in the last one. `right` has at most
/// `kPanelDepth` rows if its elements are narrower than `T`.
template <typename T, typename F>
void packPanels(const Matrix<F> &right, int64_t width, int64_t lastWidth,
                T *to);
template <typename T>
void packPanel(const Matrix<T> &right, int64_t width, T *to) {
  packPanels(right, width, width, to);
}

/// Copies rows of `from`, which are contiguous, to columns of `to`.
template <typename T>
void copyTransposed(const Matrix<T> &from, const Matrix<T> &to);

/// The same in this thread's panel.
template <typename T>
Matrix<T> packedPanel(Context &context, const Matrix<T> &right, int64_t width) {
  T *panel = panelBuffer<T>(context);
  packPanel(right, width, panel);
  return {panel, right.rows, right.columns, width, 1};
}

/// How `columns` columns are cut into panels: all of `shape` but the last.
template <typename T> struct PanelCut {
  int64_t columns;
  const TileShape<T> *shape, *lastShape;
  int64_t count;

  /// Panels of `widest` columns at most, if there are as narrow ones.
  explicit PanelCut(int64_t columns,
                    int64_t widest = TileShapes<T>::kMostColumns);
  bool isEven() const { return shape == lastShape; }
  const TileShape<T> &shapeOf(int64_t panel) const {
    return panel + 1 == count ? *lastShape : *shape;
  }
  int64_t begin(int64_t panel) const { return panel * shape->columns; }
  int64_t width(int64_t panel) const {
    return std::min(shape->columns, columns - begin(panel));
  }
};

/// Cuts `size` rows into tiles of at most `most`, which differ by one row at
/// most.
struct EvenTiles {
  int64_t size, count;
  EvenTiles(int64_t size, int64_t most)
      : size(size), count(ceilDiv(size, most)) {}
  int64_t begin(int64_t tile) const { return tile * size / count; }
};

/// Writes the rows of `left`, whose columns are contiguous, tile after tile: of
/// each tile one column after the other.
template <typename T, typename F>
void packTiles(const Matrix<F> &left, const EvenTiles &tiles, T *to);

/// A tile in memory of its own, for results that do not lie in rows of tiles.
template <typename T> struct TileBlock {
  alignas(64) T data[TileShape<T>::kMostRows * TileShapes<T>::kMostColumns];

  T *row(int64_t r, const TileShape<T> &shape) {
    return data + r * shape.columns;
  }
};

/// Computes a tile of which `columns` columns exist. Row r of the result is at
/// tile.c[r], its columns `stride` elements apart.
template <typename T>
void computeTile(const TileShape<T> &shape, int64_t rows, int64_t columns,
                 int64_t stride, Tile<T> tile) {
  auto kernel = shape.kernels[rows];
  if (columns == shape.columns && stride == 1)
    return kernel(tile);
  TileBlock<T> block;
  T *blockRows[TileShape<T>::kMostRows], *const *c = tile.c;
  for (int64_t r = 0; r < rows; ++r)
    blockRows[r] = block.row(r, shape);
  bool accumulate = tile.accumulate;
  tile.c = blockRows;
  tile.accumulate = false;
  kernel(tile);
  auto move = [&](int64_t r, int64_t j) {
    T &to = c[r][j * stride];
    to = accumulate ? to + blockRows[r][j] : blockRows[r][j];
  };
  if (stride == 1) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j)
        move(r, j);
    return;
  }
  // Its columns are further apart than its rows, often by so much that their
  // lines have one place in the first cache.
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t r = 0; r < rows; ++r)
      move(r, j);
}

} // namespace remat

#endif // REMAT_RUNTIME_CORE_PANELS_H
