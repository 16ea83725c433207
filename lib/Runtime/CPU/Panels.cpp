//===- Panels.cpp - The operand that a product packs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Panels.h"

#include "remat/Runtime/Runtime.h"

#include <cmath>
#include <cstdlib>

using namespace remat;

/// Elements of a cache line.
template <typename T> static constexpr int64_t kLine = 64 / sizeof(T);

namespace {
template <typename T> class Buffer {
public:
  explicit Buffer(int64_t elements)
      : data(static_cast<T *>(std::aligned_alloc(64, elements * sizeof(T)))) {
    if (!data)
      fail("a product found no memory for " +
           std::to_string(elements * sizeof(T)) + " bytes");
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer &) = delete;

  T *const data;
};
} // namespace

[[maybe_unused]] static const bool areAllocated = atThreadStart([] {
  allocateBuffers<float>();
  allocateBuffers<double>();
});

int64_t remat::wantedTasks() {
  constexpr int64_t kTasksOfThread = 4;
  int64_t threads = countThreads();
  return threads == 1 ? 1 : kTasksOfThread * threads;
}

int64_t remat::evenParts(int64_t count, int64_t least, int64_t most) {
  int64_t threads = countThreads(), best = least;
  double bestShare = 0;
  for (int64_t parts = least; parts <= most; ++parts) {
    double rounds = static_cast<double>(count * parts) / threads;
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

template <typename T> T *remat::panelBuffer() {
  thread_local Buffer<T> buffer(kPanelDepth * TileShapes<T>::kMostColumns);
  return buffer.data;
}

template <typename T> T *remat::leftBuffer() {
  thread_local Buffer<T> buffer(kPanelDepth * kLeftRows);
  return buffer.data;
}

template <typename T> T *remat::sumsBuffer() {
  thread_local Buffer<T> buffer(sumsBufferSize<T>());
  return buffer.data;
}

/// Rows that are further apart than a page, where the processor itself fetches
/// nothing before it is read, are fetched so many rows ahead.
static constexpr int64_t kPageBytes = 4 << 10, kRowsAhead = 8;

/// Rows of `width` elements from rows that lie `stride` apart.
template <typename T>
static void copyRows(const T *from, int64_t stride, int64_t rows,
                     int64_t columns, int64_t width, T *to) {
  constexpr int64_t kBlock = 16;
  int64_t fetched =
      stride * static_cast<int64_t>(sizeof(T)) > kPageBytes ? columns : 0;
  for (int64_t i = 0; i < rows; ++i, from += stride, to += width) {
    int64_t j = 0;
    for (int64_t line = 0; line < fetched; line += kLine<T>)
      __builtin_prefetch(from + kRowsAhead * stride + line);
    for (; j + kBlock <= columns; j += kBlock)
      std::copy_n(from + j, kBlock, to + j);
    for (; j < columns; ++j)
      to[j] = from[j];
    for (; j < width; ++j)
      to[j] = 0;
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

template <typename T>
void remat::packPanel(const Matrix<T> &right, int64_t width, T *to) {
  if (right.isRowMajor()) {
    copyRows(right.data, right.rowStride, right.rows, right.columns, width, to);
  } else {
    copyTransposed(right.transposed(),
                   Matrix<T>{to, right.rows, right.columns, width, 1});
    for (int64_t i = 0; i < right.rows; ++i)
      std::fill_n(to + i * width + right.columns, width - right.columns, T(0));
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
  template T *remat::panelBuffer();                                            \
  template T *remat::leftBuffer();                                             \
  template T *remat::sumsBuffer();                                             \
  template void remat::packPanel(const Matrix<T> &, int64_t, T *);             \
  template void remat::copyTransposed(const Matrix<T> &, const Matrix<T> &);   \
  template struct remat::PanelCut<T>;
REMAT_INSTANTIATE(float)
REMAT_INSTANTIATE(double)
