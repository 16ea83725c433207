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
#include <cmath>

using namespace remat;

namespace {

/// Below this many multiply-adds a task costs less than handing it over.
constexpr int64_t kMinTaskWork = int64_t(1) << 18;
/// Fewer rows than this read the right operand where it lies.
constexpr int64_t kFewRows = 32;

/// Returns how many panels are packed at once, and then multiplied by each tile
/// of `rows`: one, where all of these stay in a cache for the next panel.
template <typename T>
int64_t panelsAtOnce(const Team &team, int64_t rows, int64_t depth,
                     const TileShape<T> &shape) {
  depth = std::min(kPanelDepth, depth);
  if (rows <= kFewRows || 4 * rows * depth <= panelBufferSize<T>(team))
    return 1;
  return std::clamp<int64_t>(panelBufferSize<T>(team) / (depth * shape.columns),
                             1, kMostPanels);
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

/// Narrow factors are converted where they are packed, and always packed.
template <typename T, typename F>
constexpr bool isNarrow = !std::is_same_v<T, F>;

/// Returns the cost of moving operands of a product: packing its right one,
/// where that is done, and columns of the result that do not lie side by side,
/// for each part of the sum.
template <typename A, typename B, typename C>
int64_t movingCost(const Matrix<A> &a, const Matrix<B> &b, const Matrix<C> &c) {
  // In units of copying an element of a row.
  constexpr int64_t kTransposing = 4, kScattering = 32;
  bool isRead = a.rows <= kFewRows && !isNarrow<SumOf<C>, B>;
  int64_t packing = !b.isRowMajor() ? kTransposing : isRead ? 0 : 1;
  return packing * b.rows * b.columns +
         (c.isRowMajor() ? 0
                         : kScattering * c.rows * c.columns *
                               ceilDiv(b.rows, kPanelDepth));
}

/// Returns true if c' = b' a' is computed rather than c = a b.
template <typename A, typename B, typename C>
bool isCheaperTransposed(const Matrix<A> &a, const Matrix<B> &b,
                         const Matrix<C> &c) {
  return movingCost(b.transposed(), a.transposed(), c.transposed()) <
         movingCost(a, b, c);
}

/// The part of a product that one task computes: some rows of some panels.
struct Part {
  int64_t firstRow, rows, firstPanel, panels;
};

/// The tasks that a product is cut into: some rows of some panels each. A task
/// packs its panels, for so many rows that this costs little. Where the left
/// operand's columns are contiguous, or narrow, it packs some rows of that for
/// all its panels. Where results are rounded, it has memory of its own for
/// their sums.
struct Parts {
  int64_t rowParts = 1, panelParts = 1, rows, panels;

  template <typename T, typename A>
  Parts(const Team &team, int64_t batch, const Matrix<A> &a,
        const PanelCut<T> &cut, bool isRounded)
      : rows(a.rows), panels(cut.count) {
    bool isPacked = !a.isRowMajor() || isNarrow<T, A>;
    int64_t least = isPacked ? ceilDiv(rows, leftRows(a.columns)) : 1;
    int64_t leastPanels = 1;
    if (isRounded) {
      least = std::max(least, ceilDiv(rows, kLeftRows));
      leastPanels = ceilDiv(panels, kSumPanels);
    }
    int64_t threads = team.threads;
    rowParts = least;
    panelParts = leastPanels;
    if (threads == 1 || batch * rows * cut.columns * a.columns <= kMinTaskWork)
      return;
    int64_t most = std::max(least, rows / (isPacked ? kFewRows : kMinTaskRows));
    double leastTime = INFINITY;
    for (int64_t r = least; r <= most; ++r)
      for (int64_t p = leastPanels; p <= panels; ++p) {
        double time = estimateTime(team, ceilDiv(rows, r), ceilDiv(panels, p),
                                   isPacked, a.columns, cut) *
                      countRounds(batch * r * p, threads);
        if (time < leastTime) {
          leastTime = time;
          rowParts = r;
          panelParts = p;
        }
        if (batch * r * p >= kMostTasks * wantedTasks(team))
          break;
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

private:
  /// More than this many times as many tasks as are wanted are of no use.
  static constexpr int64_t kMostTasks = 4;

  /// Returns the time of a task, for each term of the sum, if 32 multiply-adds
  /// take 1.
  template <typename T>
  static double estimateTime(const Team &team, int64_t rows, int64_t panels,
                             bool isPacked, int64_t depth,
                             const PanelCut<T> &cut) {
    constexpr double kMultiplying = 1. / 32, kPacking = 1. / 2,
                     kReading = 1. / 4;
    int64_t columns = panels * cut.shape->columns;
    int64_t passes =
        ceilDiv(panels, panelsAtOnce(team, rows, depth, *cut.shape));
    return rows * columns * kMultiplying + columns * kPacking +
           rows * (isPacked ? kPacking : passes * kReading);
  }

  /// Returns the time of all tasks in times of one of them, with a share of one
  /// for threads that are slower than others.
  static double countRounds(int64_t tasks, int64_t threads) {
    constexpr double kWaiting = 0.25;
    return ceilDiv(tasks, threads) + kWaiting;
  }
};

/// Where the rows of a left operand are: where they lie, or packed tile by
/// tile.
template <typename T> struct LeftRows {
  Matrix<T> rows;
  bool isPacked;

  const T *at(int64_t first) const {
    return rows.data + first * (isPacked ? rows.columns : rows.rowStride);
  }
  int64_t rowStride() const { return isPacked ? 1 : rows.rowStride; }
  int64_t columnStride(int64_t tileRows) const {
    return isPacked ? tileRows : rows.columnStride;
  }
};

/// The rows of a left operand, packed if columns are contiguous and several
/// panels read them.
template <typename T, typename A>
LeftRows<T> takeLeftRows(Context &context, const Matrix<A> &rows,
                         const EvenTiles &tiles, bool isReadAgain) {
  T *to = leftBuffer<T>(context);
  if constexpr (!isNarrow<T, A>) {
    if (rows.isRowMajor() || !isReadAgain)
      return {rows, false};
  } else if (rows.isRowMajor()) {
    for (int64_t i = 0; i < rows.rows; ++i)
      std::copy_n(rows.data + i * rows.rowStride, rows.columns,
                  to + i * rows.columns);
    return {{to, rows.rows, rows.columns, rows.columns, 1}, false};
  }
  packTiles(rows, tiles, to);
  return {{to, rows.rows, rows.columns, 1, rows.rows}, true};
}

/// The panels `first` to `first + count` of `right`, each as a matrix: packed
/// side by side, or where they lie if `rows` are too few for that.
template <typename T, typename B>
void packPanels(Context &context, const Matrix<B> &right,
                const PanelCut<T> &cut, int64_t first, int64_t count,
                int64_t rows, Matrix<T> *panels) {
  auto blockOf = [&](int64_t begin, int64_t columns) {
    return right.block(0, begin, right.rows, columns);
  };
  int64_t last = first + count - 1, begin = cut.begin(first);
  int64_t lastColumns = cut.shapeOf(last).columns;
  if constexpr (!isNarrow<T, B>)
    if (count == 1 && right.isRowMajor() && cut.width(first) == lastColumns &&
        (rows <= kFewRows || right.rowStride == lastColumns)) {
      panels[0] = blockOf(begin, lastColumns);
      return;
    }
  T *to = panelBuffer<T>(context);
  packPanels(blockOf(begin, cut.begin(last) + cut.width(last) - begin),
             cut.shape->columns, lastColumns, to);
  for (int64_t p = first; p <= last; ++p)
    panels[p - first] = {to + right.rows * (cut.begin(p) - begin), right.rows,
                         cut.width(p), cut.shapeOf(p).columns, 1};
}

/// Adds up `part`, of which `c` is the result. Each tile of rows of the left
/// operand is read for some panels, which are in the second-level cache, before
/// the next one is.
template <typename T, typename A, typename B>
void multiplyPart(Context &context, const Matrix<A> &a, const Matrix<B> &b,
                  const Matrix<T> &c, const PanelCut<T> &cut, const Part &part,
                  bool accumulate) {
  T *results[TileShape<T>::kMostRows];
  int64_t offsets[TileShape<T>::kMostRows];
  Matrix<T> panels[kMostPanels];
  EvenTiles tiles(part.rows, cut.shape->rows);
  int64_t endPanel = part.firstPanel + part.panels;
  for (int64_t k = 0, depth; k < a.columns; k += depth) {
    depth = std::min(kPanelDepth, a.columns - k);
    auto left =
        takeLeftRows<T>(context, a.block(part.firstRow, k, part.rows, depth),
                        tiles, /*isReadAgain=*/part.panels > 1);
    for (int r = 0; r < TileShape<T>::kMostRows; ++r)
      offsets[r] = r * left.rowStride();
    int64_t atOnce = panelsAtOnce(*context.team, part.rows, depth, *cut.shape);
    for (int64_t firstPanel = part.firstPanel, count; firstPanel < endPanel;
         firstPanel += count) {
      count = std::min(atOnce, endPanel - firstPanel);
      packPanels(context, b.block(k, 0, depth, b.columns), cut, firstPanel,
                 count, part.rows, panels);
      for (int64_t index = 0; index < tiles.count; ++index) {
        int64_t first = tiles.begin(index);
        int64_t rows = tiles.begin(index + 1) - first;
        const T *start = left.at(first);
        for (int64_t p = firstPanel; p < firstPanel + count; ++p) {
          const Matrix<T> &right = panels[p - firstPanel];
          int64_t column = cut.begin(p) - cut.begin(part.firstPanel);
          for (int64_t r = 0; r < rows; ++r)
            results[r] =
                c.data + (first + r) * c.rowStride + column * c.columnStride;
          const T *panel = right.data;
          computeTile(cut.shapeOf(p), rows, right.columns, c.columnStride,
                      Tile<T>{&start, offsets, left.columnStride(rows), &panel,
                              right.rowStride, 1, depth, results,
                              accumulate || k > 0});
        }
      }
    }
  }
}

/// The same for a result that is rounded when all of its sums are complete.
template <typename T, typename A, typename B, typename C>
void multiplyPart(Context &context, const Matrix<A> &a, const Matrix<B> &b,
                  const Matrix<C> &c, const PanelCut<T> &cut, const Part &part,
                  bool accumulate) {
  Matrix<T> sums{sumsBuffer<T>(context), c.rows, c.columns, c.columns, 1};
  auto forEach = [&](auto visit) {
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = 0; j < c.columns; ++j)
        visit(c.data[i * c.rowStride + j * c.columnStride],
              sums.data[i * c.columns + j]);
  };
  if (accumulate)
    forEach([](C result, T &sum) { sum = result; });
  multiplyPart(context, a, b, sums, cut, part, accumulate);
  forEach([](C &result, T sum) { result = C(sum); });
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
      c.data[i * c.rowStride + j * c.columnStride] = T(0);
}

} // namespace

template <typename A, typename B, typename C>
void remat::gemm(Context &context, const MemRef<A, 4> &a, const MemRef<B, 4> &b,
                 const MemRef<C, 4> &c, bool accumulate) {
  using T = SumOf<C>;
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
    return gemm(context, transposed(b), transposed(a), transposed(c),
                accumulate);
  PanelCut<T> cut(n);
  Parts parts(*context.team, batch, matrixAt(a, 0, inner), cut,
              /*isRounded=*/isNarrow<T, C>);
  int64_t tasks = batch * parts.count();
  // Small products go to a thread together.
  int64_t work = std::max<int64_t>(1, batch * m * n * k / tasks);
  int64_t grain = std::max<int64_t>(1, kMinTaskWork / work);
  int64_t groups = ceilDiv(tasks, grain);
  forEachTask(context, groups, [&](Context &thread, int64_t group) {
    int64_t end = std::min(tasks, (group + 1) * grain);
    for (int64_t task = group * grain; task < end; ++task) {
      int64_t index = task / parts.count();
      Part part = parts.at(task % parts.count());
      int64_t last = part.firstPanel + part.panels - 1;
      int64_t column = cut.begin(part.firstPanel);
      Matrix<C> result = matrixAt(c, index, inner)
                             .block(part.firstRow, column, part.rows,
                                    cut.begin(last) + cut.width(last) - column);
      multiplyPart(thread, matrixAt(a, index, inner), matrixAt(b, index, inner),
                   result, cut, part, accumulate);
    }
  });
}

#define REMAT_INSTANTIATE(A, B, C)                                             \
  template void remat::gemm(Context &, const MemRef<A, 4> &,                   \
                            const MemRef<B, 4> &, const MemRef<C, 4> &, bool);
#define REMAT_INSTANTIATE_NARROW(N)                                            \
  REMAT_INSTANTIATE(N, N, float)                                               \
  REMAT_INSTANTIATE(N, N, N)                                                   \
  REMAT_INSTANTIATE(float, N, float)                                           \
  REMAT_INSTANTIATE(N, float, float)                                           \
  REMAT_INSTANTIATE(float, N, N)                                               \
  REMAT_INSTANTIATE(N, float, N)
REMAT_INSTANTIATE(float, float, float)
REMAT_INSTANTIATE(double, double, double)
REMAT_INSTANTIATE_NARROW(BF16)
REMAT_INSTANTIATE_NARROW(F16)
