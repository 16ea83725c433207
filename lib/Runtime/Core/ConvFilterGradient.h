//===- ConvFilterGradient.h - Gradients of filters --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of images and cotangents whose sum runs over all positions. Tiles
// read the images where they lie, and panels of cotangents, which all taps
// share.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_CONVFILTERGRADIENT_H
#define REMAT_RUNTIME_CORE_CONVFILTERGRADIENT_H

#include "ConvRegions.h"

namespace remat {

/// gradient(tap, c, f) = sum over images n and positions l, i and j of the axes
/// of
///   image(n, l * stride + tap.z, i * stride + tap.y, j * stride + tap.x, c)
///   * cotangent(n, l, i, j, f)
/// with their strides, where the image has such a position.
template <typename T> struct FilterGradient {
  Images<T> images, cotangents;
  int64_t n;
  TapGrid taps;
  Filters<T> gradients;
  int64_t groups, channels, filters;

  void compute(Context &context) {
    PanelCut<T> cut = cutFilters(*context.team);
    int64_t count = taps.count() * channels;
    int64_t least =
        ceilDiv(count * TileShapes<T>::kMostColumns, sumsBufferSize<T>());
    int64_t most = std::max(least, ceilDiv(count, kMinRows));
    // A thread that has got a narrow panel takes another one.
    if (cut.count > 1 && !cut.isEven())
      least = std::clamp<int64_t>(2, least, most);
    int64_t parts = evenParts(*context.team, groups * cut.count, least, most);
    forEachTask(context, groups * cut.count * parts,
                [&](Context &thread, int64_t task) {
                  int64_t part = task / (groups * cut.count);
                  int64_t panel = task / groups % cut.count;
                  int64_t first = part * count / parts;
                  computePart(Part{thread, task % groups, first,
                                   (part + 1) * count / parts, cut.begin(panel),
                                   cut.width(panel), cut.shapeOf(panel)});
                });
  }

private:
  /// Each task transposes cotangents of channels first for itself: rather those
  /// of fewer filters than all of them for fewer taps.
  PanelCut<T> cutFilters(const Team &team) const {
    int64_t widest = TileShapes<T>::kMostColumns;
    PanelCut<T> cut(filters, widest);
    while (cotangents.channel != 1 && groups * cut.count < team.threads &&
           widest > kLeastColumns) {
      widest /= 2;
      cut = PanelCut<T>(filters, widest);
    }
    return cut;
  }
  /// Narrower tiles would take longer than transposing does.
  static constexpr int64_t kLeastColumns = 16;

  /// A task packs the filters' cotangents itself: for so many rows at least.
  static constexpr int64_t kMinRows = 48;

  /// Gradients from `first` to `end`, numbered tap by tap, of some filters.
  struct Part {
    Context &context;
    int64_t group, first, end, firstFilter, filters;
    const TileShape<T> &shape;
  };
  /// Rows of positions, of all images after each other, and columns of these.
  struct Chunk {
    int64_t firstRow, rows, firstColumn, columns;
  };

  void computePart(const Part &part) const {
    // As many whole rows as a panel holds, or a part of one.
    int64_t columns = taps.x.positions, allRows = n * taps.rows();
    int64_t most = std::max<int64_t>(1, kPanelDepth / columns);
    for (int64_t row = 0; row < allRows; row += most)
      for (int64_t column = 0; column < columns; column += kPanelDepth) {
        Chunk chunk{row, std::min(most, allRows - row), column,
                    std::min(kPanelDepth, columns - column)};
        Matrix<T> right = findCotangents(part, chunk);
        for (int64_t first = part.first, end; first < part.end; first = end) {
          end = std::min(part.end, (first / channels + 1) * channels);
          addTap(part, chunk, right, first, end, row > 0 || column > 0);
        }
      }
    store(part);
  }

  /// Cotangents of a chunk, a row for each position: where they lie, if that is
  /// as good, or packed.
  Matrix<T> findCotangents(const Part &part, const Chunk &chunk) const {
    auto at = [&](int64_t row) -> T * {
      TapGrid::Row found = taps.findRow(row);
      return cotangents.at(found.image, found.z, found.y, chunk.firstColumn,
                           part.group * filters + part.firstFilter);
    };
    int64_t width = part.shape.columns;
    int64_t positions = chunk.rows * chunk.columns;
    if (cotangents.channel == 1) {
      Matrix<T> right{at(chunk.firstRow), positions, part.filters,
                      cotangents.column, 1};
      if (part.filters < width || !staysInCache(right))
        right = packedPanel(part.context, right, width);
      return right;
    }
    T *to = panelBuffer<T>(part.context);
    // Rows of an image follow each other, if chunks are whole rows.
    for (int64_t done = 0, count; done < chunk.rows; done += count) {
      int64_t row = chunk.firstRow + done;
      count = std::min(taps.rows() - row % taps.rows(), chunk.rows - done);
      packPanel(Matrix<T>{at(row), count * chunk.columns, part.filters,
                          cotangents.column, cotangents.channel},
                width, to + done * chunk.columns * width);
    }
    return {to, positions, part.filters, width, 1};
  }

  /// Returns true if tiles can read rows where they lie. Those that are many
  /// lines apart would share few sets of a cache.
  static bool staysInCache(const Matrix<T> &right) {
    constexpr int64_t kApart = 1024;
    return right.rowStride * static_cast<int64_t>(sizeof(T)) % kApart != 0;
  }

  /// Adds a chunk to the gradients `first` to `end`, which are of one tap.
  void addTap(const Part &part, const Chunk &chunk, const Matrix<T> &right,
              int64_t first, int64_t end, bool accumulate) const {
    Tap tap = taps[first / channels];
    auto [fromSlice, toSlice] = findReaders(taps.z, tap.z);
    auto [fromRow, toRow] = findReaders(taps.y, tap.y);
    auto [from, to] =
        findReaders(tap.x, taps.x.stride, taps.x.inputs, chunk.firstColumn,
                    chunk.firstColumn + chunk.columns);
    Segments<T> segments;
    segments.leftStride = taps.x.stride * images.column;
    segments.rightStride = right.rowStride;
    segments.start(to - from);
    for (int64_t r = 0; r < chunk.rows && from < to; ++r) {
      TapGrid::Row at = taps.findRow(chunk.firstRow + r);
      if (at.z < fromSlice || at.z >= toSlice || at.y < fromRow ||
          at.y >= toRow)
        continue;
      segments.add(images.at(at.image, at.z * taps.z.stride + tap.z,
                             at.y * taps.y.stride + tap.y,
                             from * taps.x.stride + tap.x,
                             part.group * channels + first % channels),
                   right.data + (r * chunk.columns + from - chunk.firstColumn) *
                                    right.rowStride);
    }
    segments.merge();
    if (segments.count == 0 && accumulate)
      return;
    EvenTiles tiles(end - first, part.shape.rows);
    int64_t offsets[TileShape<T>::kMostRows];
    T *sums[TileShape<T>::kMostRows];
    for (int64_t index = 0; index < tiles.count; ++index) {
      int64_t begin = tiles.begin(index), size = tiles.begin(index + 1) - begin;
      for (int64_t r = 0; r < size; ++r) {
        offsets[r] = (begin + r) * images.channel;
        sums[r] = sumsOf(part, first + begin + r);
      }
      part.shape.kernels[size](segments.tile(offsets, sums, accumulate));
    }
  }

  static T *sumsOf(const Part &part, int64_t gradient) {
    return sumsBuffer<T>(part.context) +
           (gradient - part.first) * part.shape.columns;
  }

  void store(const Part &part) const {
    for (int64_t i = part.first; i < part.end; ++i) {
      const T *sums = sumsOf(part, i);
      T *to = gradients.data + part.group * gradients.group +
              taps[i / channels].number * gradients.tap +
              i % channels * gradients.channel +
              part.firstFilter * gradients.filter;
      for (int64_t f = 0; f < part.filters; ++f)
        to[f * gradients.filter] = sums[f];
    }
  }
};

} // namespace remat

#endif // REMAT_RUNTIME_CORE_CONVFILTERGRADIENT_H
