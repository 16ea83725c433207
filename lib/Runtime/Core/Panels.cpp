//===- Panels.cpp - The operand that a product packs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Panels.h"

#include <cmath>
#include <type_traits>

using namespace remat;

/// Elements of a cache line.
template <typename T> static constexpr int64_t kLine = 64 / sizeof(T);

int64_t remat::wantedTasks(const Team &team) {
  constexpr int64_t kTasksOfThread = 4;
  return team.threads == 1 ? 1 : kTasksOfThread * team.threads;
}

int64_t remat::evenParts(const Team &team, int64_t count, int64_t least,
                         int64_t most) {
  int64_t best = least;
  double bestShare = 0;
  for (int64_t parts = least; parts <= most; ++parts) {
    double rounds = static_cast<double>(count * parts) / team.threads;
    double share = rounds / std::ceil(rounds);
    if (share > bestShare) {
      best = parts;
      bestShare = share;
    }
    if (share > 0.9)
      break;
  }
  return best;
}

/// Calls `body` with `number`, which is one of `numbers`, as a constant.
template <int... numbers, typename Body>
static void callWith(int64_t number, const Body &body) {
  auto callIf = [&](auto constant) {
    if (number == constant)
      body(constant);
  };
  (callIf(std::integral_constant<int, numbers>()), ...);
}

/// Copies so many that no function is called for them at a time.
template <int count, typename T, typename F>
static void copyElements(const F *from, T *to) {
  if constexpr (!std::is_same_v<T, F>) {
    for (int i = 0; i < count; ++i)
      to[i] = from[i];
  } else {
    constexpr int64_t kLines = count / kLine<T>;
    for (int64_t line = 0; line < kLines; ++line)
      std::copy_n(from + line * kLine<T>, kLine<T>, to + line * kLine<T>);
    std::copy_n(from + kLines * kLine<T>, count % kLine<T>,
                to + kLines * kLine<T>);
  }
}

/// Rows that are further apart than a page, where the processor itself fetches
/// nothing before it is read, are fetched so many rows ahead.
static constexpr int64_t kPageBytes = 4 << 10, kRowsAhead = 8;

/// Panels of contiguous rows: a row of all of them, then the next one. All but
/// the last one have rows of `width`.
template <int width, typename T, typename F>
static void copyRows(const Matrix<F> &from, int64_t lastWidth, T *to) {
  int64_t last = from.columns - from.columns % width;
  bool isFar = from.rowStride * static_cast<int64_t>(sizeof(F)) > kPageBytes;
  for (int64_t i = 0; i < from.rows; ++i) {
    const F *row = from.data + i * from.rowStride;
    for (int64_t line = 0; isFar && line < from.columns; line += kLine<F>)
      __builtin_prefetch(row + kRowsAhead * from.rowStride + line);
    T *panelRow = to + i * width;
    for (int64_t j = 0; j < last; j += width, panelRow += from.rows * width)
      copyElements<width>(row + j, panelRow);
  }
  if (last == from.columns)
    return;
  Matrix<F> rest = from.block(0, last, from.rows, from.columns - last);
  for (int64_t i = 0; i < from.rows; ++i) {
    T *panelRow = to + last * from.rows + i * lastWidth;
    std::copy_n(rest.data + i * rest.rowStride, rest.columns, panelRow);
    std::fill_n(panelRow + rest.columns, lastWidth - rest.columns, T(0));
  }
}

/// Rows i of `to` for i < `rows`, at most a cache line of elements: element i
/// of each of `columns` contiguous runs, `stride` apart.
template <typename T>
static void transposeLines(const T *from, int64_t stride, int64_t rows,
                           int64_t columns, int64_t width, T *to) {
  using Vector __attribute__((ext_vector_type(4), aligned(alignof(T)))) = T;
  auto load = [](const T *at) { return *reinterpret_cast<const Vector *>(at); };
  auto store = [](T *at, Vector v) { *reinterpret_cast<Vector *>(at) = v; };
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    const T *a = from + j * stride, *b = a + stride, *c = b + stride,
            *d = c + stride;
    T *out = to + j;
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4, out += 4 * width) {
      Vector va = load(a + i), vb = load(b + i), vc = load(c + i),
             vd = load(d + i);
      Vector ab = __builtin_shufflevector(va, vb, 0, 4, 1, 5),
             cd = __builtin_shufflevector(vc, vd, 0, 4, 1, 5),
             ab2 = __builtin_shufflevector(va, vb, 2, 6, 3, 7),
             cd2 = __builtin_shufflevector(vc, vd, 2, 6, 3, 7);
      store(out, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
      store(out + width, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
      store(out + 2 * width, __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5));
      store(out + 3 * width, __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7));
    }
    for (; i < rows; ++i, out += width) {
      out[0] = a[i];
      out[1] = b[i];
      out[2] = c[i];
      out[3] = d[i];
    }
  }
  for (; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      to[i * width + j] = from[j * stride + i];
}

template <typename T>
void remat::copyTransposed(const Matrix<T> &from, const Matrix<T> &to) {
  if (to.columnStride == 1) {
    // Whole lines of what lies further apart.
    int64_t step = to.rowStride > from.rowStride ? 4 : kLine<T>;
    for (int64_t i = 0; i < to.rows; i += step)
      transposeLines(from.data + i, from.rowStride, std::min(step, to.rows - i),
                     to.columns, to.rowStride, to.data + i * to.rowStride);
    return;
  }
  for (int64_t i = 0; i < to.rows; ++i)
    for (int64_t j = 0; j < to.columns; ++j)
      to.data[i * to.rowStride + j * to.columnStride] =
          from.data[j * from.rowStride + i];
}

/// Columns of `from`, which are contiguous, as rows of `to`.
template <typename T, typename F>
static void copyColumns(const Matrix<F> &from, const Matrix<T> &to) {
  if constexpr (std::is_same_v<T, F>) {
    copyTransposed(from.transposed(), to);
  } else {
    // So many at a time stay in the first-level cache.
    T lines[kLine<T>][kPanelDepth];
    for (int64_t j = 0; j < from.columns; j += kLine<T>) {
      int64_t count = std::min(kLine<T>, from.columns - j);
      for (int64_t column = 0; column < count; ++column)
        std::copy_n(from.data + (j + column) * from.columnStride, from.rows,
                    lines[column]);
      copyTransposed(Matrix<T>{lines[0], count, from.rows, kPanelDepth, 1},
                     to.block(0, j, from.rows, count));
    }
  }
}

template <typename T, typename F>
void remat::packPanels(const Matrix<F> &right, int64_t width, int64_t lastWidth,
                       T *to) {
  if (right.isRowMajor()) {
    // Vectors of a tile have 16 bytes or more.
    constexpr int kUnit = 16 / sizeof(T);
    callWith<REMAT_TILE_WIDTHS>(width / kUnit, [&](auto units) {
      copyRows<units() * kUnit>(right, lastWidth, to);
    });
    return;
  }
  for (int64_t begin = 0; begin < right.columns; begin += width) {
    int64_t columns = std::min(width, right.columns - begin);
    int64_t stride = begin + width < right.columns ? width : lastWidth;
    T *panel = to + begin * right.rows;
    copyColumns(right.block(0, begin, right.rows, columns),
                Matrix<T>{panel, right.rows, columns, stride, 1});
    for (int64_t i = 0; i < right.rows; ++i)
      std::fill_n(panel + i * stride + columns, stride - columns, T(0));
  }
}

template <typename T, typename F>
void remat::packTiles(const Matrix<F> &left, const EvenTiles &tiles, T *to) {
  // So many columns at a time stay in the first-level cache for all tiles.
  constexpr int64_t kColumns = 64;
  for (int64_t k = 0; k < left.columns; k += kColumns)
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      int64_t first = tiles.begin(tile), rows = tiles.begin(tile + 1) - first;
      const F *from = left.data + first + k * left.columnStride;
      T *column = to + first * left.columns + k * rows;
      int64_t count = std::min(kColumns, left.columns - k);
      callWith<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows, [&](auto size) {
        for (int64_t i = 0; i < count; ++i)
          copyElements<size()>(from + i * left.columnStride,
                               column + i * size());
      });
    }
}

template <typename T>
PanelCut<T>::PanelCut(int64_t columns, int64_t widest) : columns(columns) {
  int64_t least = INT64_MAX;
  for (const TileShape<T> &candidate : getTileShapes<T>()) {
    if (candidate.columns > widest &&
        &candidate + 1 != getTileShapes<T>().end())
      continue;
    int64_t whole = std::max<int64_t>(0, columns - 1) / candidate.columns;
    int64_t rest = columns - whole * candidate.columns;
    const TileShape<T> *last = &candidate;
    for (const TileShape<T> &narrow : getTileShapes<T>())
      if (narrow.columns >= rest && narrow.columns <= last->columns)
        last = &narrow;
    int64_t computed = whole * candidate.columns + last->columns;
    // Even panels are shared out evenly.
    bool isEvener = computed == least && whole + 1 == count &&
                    shape != lastShape && last == &candidate;
    if (computed >= least && !isEvener)
      continue;
    least = computed;
    shape = &candidate;
    lastShape = last;
    count = whole + 1;
  }
}

#define REMAT_INSTANTIATE(T)                                                   \
  template void remat::copyTransposed(const Matrix<T> &, const Matrix<T> &);   \
  template struct remat::PanelCut<T>;
REMAT_INSTANTIATE(float)
REMAT_INSTANTIATE(double)
#undef REMAT_INSTANTIATE
#define REMAT_INSTANTIATE(T, F)                                                \
  template void remat::packPanels(const Matrix<F> &, int64_t, int64_t, T *);   \
  template void remat::packTiles(const Matrix<F> &, const EvenTiles &, T *);
REMAT_INSTANTIATE(float, float)
REMAT_INSTANTIATE(double, double)
REMAT_INSTANTIATE(float, BF16)
REMAT_INSTANTIATE(float, F16)
