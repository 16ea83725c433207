//===- ConvCorrelation.h - Convolutions as products -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is a product whose rows lie in the images. Tiles read them
// there: for one tap after the other, the channels at some positions, whatever
// the layout. Nothing is gathered; what lies outside of an image is left out.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_CONVCORRELATION_H
#define REMAT_RUNTIME_CORE_CONVCORRELATION_H

#include "ConvRegions.h"

namespace remat {

/// result(n, l, i, j, o) = sum over taps and inputs k of
///   image(n, l * stride + tap.z, i * stride + tap.y, j * stride + tap.x, k)
///   * filter(tap, k, o)
/// with the strides of the axes, for all of their positions l, i and j, where
/// the image has such a position; for each of some groups of `inputs` channels
/// and `outputs` results.
template <typename T> struct Correlation {
  Images<T> images, results;
  int64_t n;
  TapGrid taps;
  /// With strides of inputs as those of channels, and of outputs as of filters.
  Filters<T> filters;
  int64_t groups, inputs, outputs;

  /// True if channels of results are contiguous, so that tiles can write them.
  bool inPlace = results.channel == 1;

  void compute(Context &context) const {
    int64_t positions = n * taps.rows() * columns();
    PanelCut<T> cut(outputs);
    int64_t least = ceilDiv(positions * widest(cut), sumsBufferSize<T>());
    int64_t parts =
        std::clamp(ceilDiv(wantedTasks(*context.team), groups * cut.count),
                   least, std::max(least, positions / kMinTaskRows));
    forEachTask(context, groups * cut.count * parts,
                [&](Context &thread, int64_t task) {
                  int64_t part = task / (groups * cut.count);
                  int64_t panel = task / groups % cut.count;
                  int64_t first = part * positions / parts;
                  computePart(Part{thread, task % groups, first,
                                   (part + 1) * positions / parts,
                                   cut.begin(panel), cut.width(panel),
                                   cut.shapeOf(panel)});
                });
  }

private:
  struct Region {
    AxisRegion z, y, x;
  };
  /// Positions `first` to `end`, in the order of images, slices, rows and
  /// columns.
  struct Part {
    Context &context;
    int64_t group, first, end, firstOutput, outputs;
    const TileShape<T> &shape;

    T *sums(int64_t position) const {
      return sumsBuffer<T>(context) + (position - first) * shape.columns;
    }
  };
  /// Terms of the sum.
  struct Block {
    int64_t firstTap, taps, firstInput, inputs;
  };

  static int64_t widest(const PanelCut<T> &cut) {
    return cut.count == 1 ? cut.lastShape->columns : cut.shape->columns;
  }
  int64_t columns() const { return taps.x.positions; }
  T *resultAt(const Part &part, int64_t row, int64_t column) const {
    TapGrid::Row at = taps.findRow(row);
    return results.at(at.image, at.z, at.y, column, part.group * outputs) +
           part.firstOutput * results.channel;
  }
  /// Calls `visit(row, from, to)` for what a part has of rows of `length`
  /// positions, all images' after each other.
  template <typename Visit>
  static void visitRows(const Part &part, int64_t length, Visit visit) {
    for (int64_t row = part.first / length; row * length < part.end; ++row)
      visit(row, std::max<int64_t>(0, part.first - row * length),
            std::min(length, part.end - row * length));
  }
  /// The same for a region.
  template <typename Visit>
  void visitRows(const Part &part, const Region &region, Visit visit) const {
    visitRows(part, columns(), [&](int64_t row, int64_t from, int64_t to) {
      from = std::max(from, region.x.begin);
      to = std::min(to, region.x.end);
      TapGrid::Row at = taps.findRow(row);
      if (region.z.has(at.z) && region.y.has(at.y) && from < to)
        visit(row, from, to);
    });
  }

  void computePart(const Part &part) const {
    // Residue classes may meet no taps: a block without terms stores zeros.
    int64_t numTaps = taps.count();
    EvenTiles inputBlocks(
        inputs,
        numTaps == 0 ? inputs : std::max<int64_t>(1, kPanelDepth / numTaps));
    for (int64_t k = 0; k < inputBlocks.count; ++k)
      for (int64_t t = 0; t == 0 || t < numTaps; t += kPanelDepth) {
        Block block{t, std::min(kPanelDepth, numTaps - t), inputBlocks.begin(k),
                    inputBlocks.begin(k + 1) - inputBlocks.begin(k)};
        Panel panel = packFilters(part, block);
        forEachRegion(taps.z, [&](const AxisRegion &z) {
          forEachRegion(taps.y, [&](const AxisRegion &y) {
            forEachRegion(taps.x, [&](const AxisRegion &x) {
              computeTiles(part, block, Region{z, y, x}, panel, k > 0 || t > 0);
            });
          });
        });
      }
    if (!inPlace)
      storeSums(part);
  }

  /// A block's filters in a panel, which has a row for each tap and input.
  struct Panel {
    /// Between the rows of two inputs, and of two taps.
    int64_t inputStride, tapStride;
    /// True if taps lie as in the filters, not as in the block.
    bool byNumber;
  };

  Panel packFilters(const Part &part, const Block &block) const {
    T *from = filters.data + part.group * filters.group +
              block.firstInput * filters.channel +
              part.firstOutput * filters.filter;
    T *to = panelBuffer<T>(part.context);
    int64_t width = part.shape.columns;
    auto pack = [&](T *data, int64_t count, int64_t stride) {
      packPanel(Matrix<T>{data, count, part.outputs, stride, filters.filter},
                width, to);
      to += count * width;
    };
    if (std::min(filters.channel, filters.filter) == 1) {
      for (int64_t t = 0; t < block.taps; ++t)
        pack(from + taps[block.firstTap + t].number * filters.tap, block.inputs,
             filters.channel);
      return {width, block.inputs * width, /*byNumber=*/false};
    }
    // Taps are contiguous.
    bool hasAll = block.taps == filters.taps;
    if (hasAll && filters.channel == filters.taps)
      pack(from, block.inputs * block.taps, 1);
    else
      for (int64_t k = 0; k < block.inputs; ++k)
        if (hasAll)
          pack(from + k * filters.channel, block.taps, 1);
        else
          for (int64_t t = 0; t < block.taps; ++t)
            pack(from + k * filters.channel + taps[block.firstTap + t].number,
                 1, 1);
    return {block.taps * width, width, hasAll};
  }

  /// The terms that the positions of a region have in a block, as the first of
  /// its positions reads them.
  void findSegments(const Part &part, const Block &block, const Region &region,
                    const Panel &panel, Segments<T> &segments) const {
    segments.leftStride = images.channel;
    segments.rightStride = panel.inputStride;
    segments.start(block.inputs);
    for (int64_t l = 0; l < region.z.taps; ++l)
      for (int64_t i = 0; i < region.y.taps; ++i)
        for (int64_t j = 0; j < region.x.taps; ++j) {
          int64_t index =
              ((region.z.firstTap + l) * taps.y.count + region.y.firstTap + i) *
                  taps.x.count +
              region.x.firstTap + j - block.firstTap;
          if (index < 0 || index >= block.taps)
            continue;
          Tap tap = taps[block.firstTap + index];
          int64_t slot = panel.byNumber ? tap.number : index;
          segments.add(images.at(0, region.z.begin * taps.z.stride + tap.z,
                                 region.y.begin * taps.y.stride + tap.y,
                                 region.x.begin * taps.x.stride + tap.x,
                                 part.group * inputs + block.firstInput),
                       panelBuffer<T>(part.context) + slot * panel.tapStride);
        }
    segments.merge();
  }

  void computeTiles(const Part &part, const Block &block, const Region &region,
                    const Panel &panel, bool accumulate) const {
    int64_t count = 0;
    visitRows(part, region,
              [&](int64_t, int64_t from, int64_t to) { count += to - from; });
    if (count == 0)
      return;
    Segments<T> segments;
    findSegments(part, block, region, panel, segments);
    if (segments.count == 0 && accumulate)
      return;
    // A tile is computed when the next one is known, whose results are on their
    // way to the cache meanwhile.
    struct Rows {
      int64_t size = 0, offsets[TileShape<T>::kMostRows];
      T *to[TileShape<T>::kMostRows];
    } rowsOf[2];
    auto compute = [&](const Rows &tile) {
      if (tile.size > 0)
        computeTile(part.shape, tile.size,
                    inPlace ? part.outputs : part.shape.columns, 1,
                    segments.tile(tile.offsets, tile.to, accumulate));
    };
    EvenTiles tiles(count, part.shape.rows);
    int64_t tile = 0;
    visitRows(part, region, [&](int64_t row, int64_t from, int64_t end) {
      TapGrid::Row at = taps.findRow(row);
      int64_t offset = at.image * images.image +
                       (at.z - region.z.begin) * taps.z.stride * images.slice +
                       (at.y - region.y.begin) * taps.y.stride * images.row;
      // A task's sums may begin in the middle of a row.
      T *to = inPlace ? resultAt(part, row, from)
                      : part.sums(row * columns() + from);
      int64_t step = inPlace ? results.column : part.shape.columns;
      int64_t inputStep = taps.x.stride * images.column;
      for (int64_t j = from; j < end; ++j, to += step) {
        Rows &next = rowsOf[tile % 2];
        prefetch(to, part.outputs);
        next.offsets[next.size] = offset + (j - region.x.begin) * inputStep;
        next.to[next.size++] = to;
        if (next.size < tiles.begin(tile + 1) - tiles.begin(tile))
          continue;
        Rows &last = rowsOf[++tile % 2];
        compute(last);
        last.size = 0;
      }
    });
    compute(rowsOf[(tile - 1) % 2]);
  }

  static void prefetch(const T *row, int64_t count) {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (int64_t i = 0; i < count; i += kLine)
      __builtin_prefetch(row + i, /*write=*/1);
  }

  /// Writes the sums of a part where channels are not contiguous: some filters'
  /// at a time, in long runs.
  void storeSums(const Part &part) const {
    constexpr int64_t kTogether = 4;
    int64_t columns = this->columns(), rows = taps.y.positions;
    bool isDense = results.row == columns * results.column;
    bool isWhole = isDense && results.slice == rows * results.row;
    int64_t length = isWhole   ? taps.rows() * columns
                     : isDense ? rows * columns
                               : columns;
    for (int64_t o = 0; o < part.outputs; o += kTogether)
      visitRows(part, length, [&](int64_t row, int64_t from, int64_t to) {
        int64_t position = row * length + from;
        Matrix<T> sums{part.sums(position) + o, to - from,
                       std::min(kTogether, part.outputs - o),
                       part.shape.columns, 1};
        copyTransposed(sums, Matrix<T>{resultAt(part, position / columns,
                                                position % columns) +
                                           o * results.channel,
                                       sums.columns, sums.rows, results.channel,
                                       results.column});
      });
  }
};

} // namespace remat

#endif // REMAT_RUNTIME_CORE_CONVCORRELATION_H
