//===- ConvChannelsFirst.cpp - Convolutions as PyTorch lays them out ------===//
//
// Images (n, c, h, w) and filters (f, c, kh, kw): a convolution is a product of
// filters with windows, of which a panel at a time is gathered, as products
// pack their right operand. Transposing to channels last would cost a copy of
// every image that the backward needs.
//
//===----------------------------------------------------------------------===//

#include "ConvCall.h"
#include "ConvDirect.h"
#include "Panels.h"

#include <cstring>

using namespace remat;

namespace {

/// Tasks of a filter's gradient, each of which reads all positions.
constexpr int64_t kWantedFilterTasks = 8;
/// A task packs the filters' cotangents itself: for so many rows at least.
constexpr int64_t kMinFilterRows = 48;

/// Runs of a small image are a few elements: less than a call is worth.
template <typename T>
void copyRun(const T *from, int64_t stride, int64_t count, T *to) {
  constexpr int64_t kShort = 32, kBlock = 4;
  if (stride != 1) {
    for (int64_t j = 0; j < count; ++j)
      to[j] = from[j * stride];
    return;
  }
  if (count > kShort) {
    std::memcpy(to, from, count * sizeof(T));
    return;
  }
  int64_t j = 0;
  for (; j + kBlock <= count; j += kBlock)
    std::copy_n(from + j, kBlock, to + j);
  for (; j < count; ++j)
    to[j] = from[j];
}

/// Positions (n, i, j) with i < rows, j < columns that read planes of images.
template <typename T> struct PlaneGrid {
  T *images;
  /// Planes of an image, and of what sizes.
  int64_t planes, h, w;
  int64_t strideH, strideW;
  int64_t n, rows, columns;

  int64_t positions() const { return n * rows * columns; }
};

/// Consecutive positions in one row of the grid; `index` counts those of the
/// panel before.
struct Span {
  int64_t image, row, column, count, index;
};

/// Calls `visit` for the spans of `count` positions from `first`.
template <typename T, typename Visit>
void visitSpans(const PlaneGrid<T> &grid, int64_t first, int64_t count,
                Visit visit) {
  int64_t column = first % grid.columns;
  for (int64_t row = first / grid.columns, index = 0; index < count;
       ++row, column = 0) {
    int64_t length = std::min(grid.columns - column, count - index);
    visit(Span{row / grid.rows, row % grid.rows, column, length, index});
    index += length;
  }
}

/// The windows of some positions, at most as many as a sum has terms in a
/// panel.
template <typename T> class Windows {
public:
  explicit Windows(const PlaneGrid<T> &grid) : grid(grid) {}

  void moveTo(int64_t first, int64_t numPositions) {
    count = numPositions;
    numSpans = 0;
    visitSpans(grid, first, count,
               [&](const Span &span) { spans[numSpans++] = span; });
  }

  /// Writes what each position reads under `tap` of `planes` planes from
  /// `plane`, at `stride` elements from each other.
  void gather(const Tap &tap, int64_t plane, int64_t planes, int64_t stride,
              T *to) {
    findRuns(tap);
    const T *from = grid.images + plane * grid.h * grid.w;
    for (int64_t p = 0; p < planes;
         ++p, to += stride, from += grid.h * grid.w) {
      if (!isWhole)
        std::fill_n(to, count, T(0));
      for (int64_t i = 0; i < numRuns; ++i)
        copyRun(from + runs[i].from, grid.strideW, runs[i].count,
                to + runs[i].to);
    }
  }

private:
  struct Copy {
    int64_t from, to, count;
  };

  /// What lies inside of the images.
  void findRuns(const Tap &tap) {
    numRuns = 0;
    isWhole = true;
    Run inside = runOf(0, 0, -tap.x, grid.strideW, grid.w, grid.columns);
    for (int64_t i = 0; i < numSpans; ++i) {
      const Span &span = spans[i];
      int64_t y = span.row * grid.strideH + tap.y;
      int64_t end = span.column + span.count;
      int64_t from = std::clamp(inside.from, span.column, end);
      int64_t stop = std::clamp(inside.to, from, end);
      if (y < 0 || y >= grid.h)
        stop = from;
      isWhole &= stop - from == span.count;
      if (stop > from)
        runs[numRuns++] = {(span.image * grid.planes * grid.h + y) * grid.w +
                               from * grid.strideW + tap.x,
                           span.index + from - span.column, stop - from};
    }
  }

  const PlaneGrid<T> &grid;
  Span spans[kPanelDepth];
  Copy runs[kPanelDepth];
  int64_t count = 0, numSpans = 0, numRuns = 0;
  bool isWhole = true;
};
static_assert(TileShapes<double>::kMostColumns <= kPanelDepth);

/// result(n, o, i, j) = sum over inputs k and taps of
///   filter(o, k, tap) * image(n, k, i * strideH + tap.y, j * strideW + tap.x)
/// where there is such a position, for each of `groups` groups of outputs and
/// inputs.
template <typename T> struct PlaneCorrelation {
  PlaneGrid<T> grid;
  int64_t groups, inputs, outputs;
  const T *filters;
  /// In elements, of the filters; taps have their own.
  int64_t groupStride, outputStride, inputStride;
  T *results;
  /// Of the results.
  int64_t planeStride, rowStride, columnStride;
  TapGrid taps;
  /// Whether `taps` are all of the filters.
  bool tapsAreRun;

  void compute() const;

private:
  /// Terms of the sum: some taps of some inputs.
  struct Block {
    int64_t firstInput, inputs, firstTap, taps;
    int64_t depth() const { return inputs * taps; }
  };
  struct Part {
    int64_t group, firstOutput, outputs, firstPanel, panels;
  };

  T *resultAt(int64_t group, int64_t output, const Span &span) const {
    int64_t plane = (span.image * groups + group) * outputs + output;
    return results + plane * planeStride + span.row * rowStride +
           span.column * columnStride;
  }
  const T *filterAt(const Part &part, int64_t output, const Block &block,
                    int64_t input) const {
    return filters + part.group * groupStride +
           (part.firstOutput + output) * outputStride +
           (block.firstInput + input) * inputStride;
  }
  void clear() const;
  void computePart(const PanelCut<T> &cut, const Part &part) const;
  void packFilters(const Part &part, const Block &block, T *to) const;
  void computePanel(const TileShape<T> &shape, const Part &part,
                    const Block &block, int64_t first, int64_t width) const;
};

template <typename T> void PlaneCorrelation<T>::compute() const {
  if (taps.count() == 0)
    return clear();
  PanelCut<T> cut(grid.positions());
  int64_t outputParts = tapsAreRun ? 1 : ceilDiv(outputs, kLeftRows);
  int64_t panelParts = std::clamp<int64_t>(
      ceilDiv(kWantedTasks, groups * outputParts), 1, cut.count);
  forEachTask<T>(groups * outputParts * panelParts, [&](int64_t task) {
    int64_t panel = task % panelParts, output = task / panelParts % outputParts;
    int64_t firstOutput = output * outputs / outputParts;
    int64_t firstPanel = panel * cut.count / panelParts;
    computePart(cut, Part{task / (panelParts * outputParts), firstOutput,
                          (output + 1) * outputs / outputParts - firstOutput,
                          firstPanel,
                          (panel + 1) * cut.count / panelParts - firstPanel});
  });
}

template <typename T> void PlaneCorrelation<T>::clear() const {
#pragma omp parallel for
  for (int64_t plane = 0; plane < grid.n * groups * outputs; ++plane)
    for (int64_t i = 0; i < grid.rows; ++i)
      for (int64_t j = 0; j < grid.columns; ++j)
        results[plane * planeStride + i * rowStride + j * columnStride] = 0;
}

template <typename T>
void PlaneCorrelation<T>::computePart(const PanelCut<T> &cut,
                                      const Part &part) const {
  int64_t numTaps = taps.count();
  EvenTiles tapBlocks(numTaps, kPanelDepth);
  EvenTiles inputBlocks(inputs, std::max<int64_t>(1, kPanelDepth / numTaps));
  Windows<T> windows(grid);
  for (int64_t i = 0; i < inputBlocks.count; ++i)
    for (int64_t t = 0; t < tapBlocks.count; ++t) {
      Block block{
          inputBlocks.begin(i), inputBlocks.begin(i + 1) - inputBlocks.begin(i),
          tapBlocks.begin(t), tapBlocks.begin(t + 1) - tapBlocks.begin(t)};
      if (!tapsAreRun)
        packFilters(part, block, leftBuffer<T>());
      for (int64_t p = part.firstPanel; p < part.firstPanel + part.panels;
           ++p) {
        const TileShape<T> &shape = cut.shapeOf(p);
        int64_t width = cut.width(p);
        windows.moveTo(cut.begin(p), width);
        T *to = panelBuffer<T>();
        for (int64_t tap = 0; tap < block.taps; ++tap)
          windows.gather(taps[block.firstTap + tap],
                         part.group * inputs + block.firstInput, block.inputs,
                         block.taps * shape.columns, to + tap * shape.columns);
        for (int64_t k = 0; k < block.depth(); ++k)
          std::fill_n(to + k * shape.columns + width, shape.columns - width,
                      T(0));
        computePanel(shape, part, block, cut.begin(p), width);
      }
    }
}

template <typename T>
void PlaneCorrelation<T>::packFilters(const Part &part, const Block &block,
                                      T *to) const {
  for (int64_t output = 0; output < part.outputs; ++output)
    for (int64_t input = 0; input < block.inputs; ++input) {
      const T *from = filterAt(part, output, block, input);
      for (int64_t tap = 0; tap < block.taps; ++tap)
        *to++ = from[taps[block.firstTap + tap].number];
    }
}

template <typename T>
void PlaneCorrelation<T>::computePanel(const TileShape<T> &shape,
                                       const Part &part, const Block &block,
                                       int64_t first, int64_t width) const {
  bool accumulate = block.firstInput > 0 || block.firstTap > 0;
  bool isDense = columnStride == 1 && rowStride == grid.columns;
  int64_t plane = grid.rows * grid.columns;
  // Positions of one image lie side by side, if they are all.
  bool inPlace = isDense && width == shape.columns &&
                 first / plane == (first + width - 1) / plane;
  EvenTiles tiles(part.outputs, shape.rows);
  // Taps that lie apart were packed; else a segment holds those of an input, or
  // all. Filters of one tap are a matrix.
  bool byRows = !tapsAreRun || outputStride != 1;
  int64_t segments = 1, depth = block.depth();
  if (tapsAreRun && byRows && inputStride != taps.count()) {
    segments = block.inputs;
    depth = block.taps;
  }
  const T *left[kPanelDepth * TileShape<T>::kMostRows];
  T *to[TileShape<T>::kMostRows];
  TileBlock<T> results;
  for (int64_t input = 0; input < block.inputs && !byRows; ++input)
    left[input] = filterAt(part, 0, block, input);
  for (int64_t index = 0; index < tiles.count; ++index) {
    int64_t begin = tiles.begin(index), rows = tiles.begin(index + 1) - begin;
    int64_t output = part.firstOutput + begin;
    Span start{first / plane, first % plane / grid.columns,
               first % grid.columns, width, 0};
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t segment = 0; segment < segments && byRows; ++segment)
        left[segment * rows + r] =
            tapsAreRun ? filterAt(part, begin + r, block, segment) +
                             taps[block.firstTap].number
                       : leftBuffer<T>() + (begin + r) * block.depth();
      to[r] = inPlace ? resultAt(part.group, output + r, start)
                      : results.row(r, shape);
    }
    (byRows ? shape.byRows : shape.byDepth)[rows](
        Tile<T>{left, begin, segments, depth, panelBuffer<T>(), shape.columns,
                to, inPlace && accumulate});
    if (inPlace)
      continue;
    visitSpans(grid, first, width, [&](const Span &span) {
      for (int64_t r = 0; r < rows; ++r) {
        T *at = resultAt(part.group, output + r, span);
        const T *from = to[r] + span.index;
        for (int64_t j = 0; j < span.count; ++j) {
          T &element = at[j * columnStride];
          element = accumulate ? element + from[j] : from[j];
        }
      }
    });
  }
}

template <typename T> void forward(const ConvShape &s, T *x, T *w, T *y) {
  if (s.isDirect())
    return directForward(s, x, w, y);
  PlaneCorrelation<T>{
      {x, s.groups * s.c, s.h, s.w, s.strideH, s.strideW, s.n, s.oh, s.ow},
      s.groups,
      s.c,
      s.f,
      w,
      s.f * s.c * s.taps(),
      s.c * s.taps(),
      s.taps(),
      y,
      s.oh * s.ow,
      s.ow,
      1,
      TapGrid::forward(s),
      /*tapsAreRun=*/true}
      .compute();
}

/// With strides, one residue class of input positions after the other: each
/// meets other taps, and together these read consecutive output positions.
template <typename T>
void backwardData(const ConvShape &s, T *dy, T *w, T *dx) {
  if (s.isDirect())
    return directBackwardData(s, dy, w, dx);
  for (int64_t y0 = 0; y0 < std::min(s.strideH, s.h); ++y0)
    for (int64_t x0 = 0; x0 < std::min(s.strideW, s.w); ++x0) {
      TapGrid taps = TapGrid::backward(s, y0, x0);
      PlaneCorrelation<T>{{dy, s.groups * s.f, s.oh, s.ow, 1, 1, s.n,
                           ceilDiv(s.h - y0, s.strideH),
                           ceilDiv(s.w - x0, s.strideW)},
                          s.groups,
                          s.f,
                          s.c,
                          w,
                          s.f * s.c * s.taps(),
                          s.taps(),
                          s.c * s.taps(),
                          dx + y0 * s.w + x0,
                          s.h * s.w,
                          s.strideH * s.w,
                          s.strideW,
                          taps,
                          /*tapsAreRun=*/taps.count() == s.taps()}
          .compute();
    }
}

/// The gradients of some (channel, ky, kx) of some filters, which a task owns:
/// windows times cotangents, added up over all positions in order.
template <typename T> class FilterGradient {
public:
  FilterGradient(const ConvShape &s, T *x, T *dy, T *dw)
      : s(s), grid{x,   s.groups * s.c, s.h, s.w, s.strideH, s.strideW,
                   s.n, s.oh,           s.ow},
        dy(dy), dw(dw), cut(s.f), taps(TapGrid::forward(s)) {}

  void compute() const {
    int64_t rows = s.c * s.taps(), panelParts = ceilDiv(cut.count, kSumPanels);
    int64_t least = ceilDiv(rows, kLeftRows);
    int64_t rowParts =
        std::clamp(ceilDiv(kWantedFilterTasks, s.groups * panelParts), least,
                   std::max(least, ceilDiv(rows, kMinFilterRows)));
    forEachTask<T>(s.groups * rowParts * panelParts, [&](int64_t task) {
      int64_t row = task / panelParts % rowParts, panel = task % panelParts;
      int64_t firstRow = row * rows / rowParts;
      int64_t firstPanel = panel * cut.count / panelParts;
      Part part{task / (panelParts * rowParts), firstRow,
                (row + 1) * rows / rowParts - firstRow, firstPanel,
                (panel + 1) * cut.count / panelParts};
      computePart(part);
    });
  }

private:
  struct Part {
    int64_t group, firstRow, rows, firstPanel, endPanel;
  };
  /// Where the sums of a part are, a panel after the other, until all
  /// positions are added up: the filters' own layout would scatter them.
  static T *sumsOf(int64_t panel, int64_t row, int64_t rows, int64_t width) {
    return sumsBuffer<T>() + panel * rows * TileShapes<T>::kMostColumns +
           row * width;
  }

  void computePart(const Part &part) const {
    Windows<T> windows(grid);
    for (int64_t first = 0; first < grid.positions(); first += kPanelDepth) {
      int64_t depth = std::min(kPanelDepth, grid.positions() - first);
      windows.moveTo(first, depth);
      for (int64_t tap = 0; tap < s.taps(); ++tap) {
        // The first row under this tap; the others are of the planes behind.
        int64_t begin = (s.taps() + tap - part.firstRow % s.taps()) % s.taps();
        if (begin < part.rows)
          windows.gather(taps[tap],
                         part.group * s.c + (part.firstRow + begin) / s.taps(),
                         ceilDiv(part.rows - begin, s.taps()), s.taps() * depth,
                         leftBuffer<T>() + begin * depth);
      }
      for (int64_t p = part.firstPanel; p < part.endPanel; ++p) {
        packCotangents(part, p, first, depth);
        addPanel(part, p, depth, first > 0);
      }
    }
    for (int64_t p = part.firstPanel; p < part.endPanel; ++p)
      storePanel(part, p);
  }

  void packCotangents(const Part &part, int64_t p, int64_t first,
                      int64_t depth) const {
    int64_t plane = s.oh * s.ow, width = cut.shapeOf(p).columns;
    for (int64_t done = 0; done < depth;) {
      int64_t image = (first + done) / plane, at = (first + done) % plane;
      int64_t count = std::min(plane - at, depth - done);
      int64_t f = (image * s.groups + part.group) * s.f + cut.begin(p);
      packPanel(Matrix<T>{dy + f * plane + at, count, cut.width(p), 1, plane},
                width, panelBuffer<T>() + done * width);
      done += count;
    }
  }

  void addPanel(const Part &part, int64_t p, int64_t depth,
                bool accumulate) const {
    const TileShape<T> &shape = cut.shapeOf(p);
    EvenTiles tiles(part.rows, shape.rows);
    const T *left[TileShape<T>::kMostRows];
    T *to[TileShape<T>::kMostRows];
    for (int64_t index = 0; index < tiles.count; ++index) {
      int64_t begin = tiles.begin(index), rows = tiles.begin(index + 1) - begin;
      for (int64_t r = 0; r < rows; ++r) {
        left[r] = leftBuffer<T>() + (begin + r) * depth;
        to[r] =
            sumsOf(p - part.firstPanel, begin + r, part.rows, shape.columns);
      }
      shape.byRows[rows](Tile<T>{left, 0, 1, depth, panelBuffer<T>(),
                                 shape.columns, to, accumulate});
    }
  }

  void storePanel(const Part &part, int64_t p) const {
    int64_t width = cut.shapeOf(p).columns;
    for (int64_t j = 0; j < cut.width(p); ++j) {
      int64_t f = part.group * s.f + cut.begin(p) + j;
      T *to = dw + f * s.c * s.taps() + part.firstRow;
      for (int64_t r = 0; r < part.rows; ++r)
        to[r] = sumsOf(p - part.firstPanel, r, part.rows, width)[j];
    }
  }

  const ConvShape &s;
  PlaneGrid<T> grid;
  T *dy, *dw;
  PanelCut<T> cut;
  TapGrid taps;
};

template <typename T>
void backwardFilter(const ConvShape &s, T *x, T *dy, T *dw) {
  if (s.isDirect())
    return directBackwardFilter(s, x, dy, dw);
  FilterGradient<T>(s, x, dy, dw).compute();
}

constexpr bool kChannelsFirst = true;

} // namespace

// Images (n, c, h, w), filters (f, c / groups, kh, kw).
REMAT_CONV(conv_2d_channels_first, forward, a, b, c)
REMAT_CONV(conv_2d_channels_first_backward_data, backwardData, c, b, a)
REMAT_CONV(conv_2d_channels_first_backward_filter, backwardFilter, a, c, b)
