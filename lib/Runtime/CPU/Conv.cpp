//===- Conv.cpp - Convolutions, channels last -----------------------------===//
//
// A convolution is a product whose rows lie in the images: one position's
// channels under one filter position after the other. Tiles read them there, by
// pointers; where a window reaches over the border, the pointer is to zeros.
// Nothing is gathered.
//
//===----------------------------------------------------------------------===//

#include "ConvCall.h"
#include "ConvDirect.h"
#include "Panels.h"

using namespace remat;

namespace {

/// Tasks of a filter's gradient, each of which reads all positions.
constexpr int64_t kWantedFilterTasks = 16;
/// A task reads all cotangents of its filters: for so many channels.
constexpr int64_t kMinTaskChannels = 24;

/// result(n, i, j) = sum over taps of
///   image(n, i * strideH + tap.y, j * strideW + tap.x) * filter(tap)
/// for i < rows, j < columns, where there is such a position.
template <typename T> struct Correlation {
  T *images;
  int64_t h, w, channels, strideH, strideW;
  T *results;
  int64_t n, rows, columns;
  /// Of the results, in elements.
  int64_t imageStride, rowStride, columnStride;
  TapGrid taps;
  /// That of tap number 0, of `channels` rows; the others follow it.
  Matrix<T> filter;

  int64_t filters() const { return filter.columns; }

  int64_t positions() const { return n * rows * columns; }
  void compute() const;

private:
  struct Block {
    int64_t firstTap, taps, firstChannel, channels;
  };
  /// As many taps as a panel holds, or some channels of one.
  static constexpr int64_t kMostTaps = 64;

  void clear() const;
  void computePart(const PanelCut<T> &cut, int64_t panel, int64_t first,
                   int64_t count) const;
  void computeTiles(const TileShape<T> &shape, int64_t firstColumn,
                    int64_t width, int64_t first, int64_t count,
                    const Block &block) const;
};

template <typename T> void Correlation<T>::compute() const {
  if (taps.count() == 0)
    return clear();
  PanelCut<T> cut(filters());
  int64_t parts = std::clamp<int64_t>(ceilDiv(kWantedTasks, cut.count), 1,
                                      ceilDiv(positions(), kMinTaskRows));
  forEachTask<T>(cut.count * parts, [&](int64_t task) {
    int64_t part = task % parts, first = part * positions() / parts;
    computePart(cut, task / parts, first,
                (part + 1) * positions() / parts - first);
  });
}

template <typename T> void Correlation<T>::clear() const {
#pragma omp parallel for
  for (int64_t row = 0; row < n * rows; ++row) {
    T *to = results + row / rows * imageStride + row % rows * rowStride;
    for (int64_t j = 0; j < columns; ++j)
      std::fill_n(to + j * columnStride, filters(), T(0));
  }
}

template <typename T>
void Correlation<T>::computePart(const PanelCut<T> &cut, int64_t panel,
                                 int64_t first, int64_t count) const {
  const TileShape<T> &shape = cut.shapeOf(panel);
  int64_t width = cut.width(panel);
  EvenTiles channelBlocks(channels, kPanelDepth);
  EvenTiles tapBlocks(
      taps.count(), std::clamp<int64_t>(kPanelDepth / channels, 1, kMostTaps));
  for (int64_t t = 0; t < tapBlocks.count; ++t)
    for (int64_t c = 0; c < channelBlocks.count; ++c) {
      Block block{tapBlocks.begin(t),
                  tapBlocks.begin(t + 1) - tapBlocks.begin(t),
                  channelBlocks.begin(c),
                  channelBlocks.begin(c + 1) - channelBlocks.begin(c)};
      T *to = panelBuffer<T>();
      for (int64_t i = 0; i < block.taps; ++i) {
        Matrix<T> matrix = filter;
        matrix.data += taps[block.firstTap + i].number * channels * filters();
        packPanel(matrix.block(block.firstChannel, cut.begin(panel),
                               block.channels, width),
                  shape.columns, to);
        to += block.channels * shape.columns;
      }
      computeTiles(shape, cut.begin(panel), width, first, count, block);
    }
}

template <typename T>
void Correlation<T>::computeTiles(const TileShape<T> &shape,
                                  int64_t firstColumn, int64_t width,
                                  int64_t first, int64_t count,
                                  const Block &block) const {
  EvenTiles tiles(count, shape.rows);
  const T *left[kMostTaps * TileShape<T>::kMostRows];
  T *to[TileShape<T>::kMostRows];
  Tap shifts[kMostTaps];
  for (int64_t t = 0; t < block.taps; ++t)
    shifts[t] = taps[block.firstTap + t];
  int64_t j = first % columns, i = first / columns % rows,
          image = first / (columns * rows);
  for (int64_t index = 0; index < tiles.count; ++index) {
    int64_t size = tiles.begin(index + 1) - tiles.begin(index);
    for (int64_t r = 0; r < size; ++r) {
      to[r] = results + image * imageStride + i * rowStride + j * columnStride +
              firstColumn;
      int64_t y = i * strideH, x = j * strideW;
      const T *position =
          images + ((image * h + y) * w + x) * channels + block.firstChannel;
      for (int64_t t = 0; t < block.taps; ++t) {
        const Tap &tap = shifts[t];
        bool inside =
            static_cast<uint64_t>(y + tap.y) < static_cast<uint64_t>(h) &&
            static_cast<uint64_t>(x + tap.x) < static_cast<uint64_t>(w);
        left[t * size + r] =
            inside ? position + (tap.y * w + tap.x) * channels : zeros<T>();
      }
      if (++j == columns) {
        j = 0;
        if (++i == rows) {
          i = 0;
          ++image;
        }
      }
    }
    computeTile(shape, /*byRows=*/true, size, width, 1,
                Tile<T>{left, 0, block.taps, block.channels, panelBuffer<T>(),
                        shape.columns, to,
                        block.firstTap > 0 || block.firstChannel > 0});
  }
}

template <typename T> void forward(const ConvShape &s, T *x, T *w, T *y) {
  if (s.isDirect())
    return depthwiseForward(s, x, w, y);
  Correlation<T>{x,
                 s.h,
                 s.w,
                 s.c,
                 s.strideH,
                 s.strideW,
                 y,
                 s.n,
                 s.oh,
                 s.ow,
                 s.oh * s.ow * s.f,
                 s.ow * s.f,
                 s.f,
                 TapGrid::forward(s),
                 matrix(w, s.c, s.f, s.f)}
      .compute();
}

/// With strides, one residue class of input positions after the other: each
/// meets other taps, and together these read consecutive output positions.
template <typename T>
void backwardData(const ConvShape &s, T *dy, T *w, T *dx) {
  if (s.isDirect())
    return depthwiseBackwardData(s, dy, w, dx);
  for (int64_t y0 = 0; y0 < std::min(s.strideH, s.h); ++y0)
    for (int64_t x0 = 0; x0 < std::min(s.strideW, s.w); ++x0)
      Correlation<T>{dy,
                     s.oh,
                     s.ow,
                     s.f,
                     1,
                     1,
                     dx + (y0 * s.w + x0) * s.c,
                     s.n,
                     ceilDiv(s.h - y0, s.strideH),
                     ceilDiv(s.w - x0, s.strideW),
                     s.h * s.w * s.c,
                     s.strideH * s.w * s.c,
                     s.strideW * s.c,
                     TapGrid::backward(s, y0, x0),
                     transposed(w, s.f, s.c, s.f)}
          .compute();
}

/// Pointers to what filter position (ky, kx) reads for each of `count` output
/// positions from `first`.
template <typename T>
void findInputs(const ConvShape &s, const T *x, int64_t ky, int64_t kx,
                int64_t first, int64_t count, const T **to) {
  Run run = runOf(kx, s.dilationW, s.padW, s.strideW, s.w, s.ow);
  int64_t ox = first % s.ow;
  for (int64_t row = first / s.ow, left = count; left > 0; ++row, ox = 0) {
    int64_t stop = std::min(s.ow, ox + left);
    left -= stop - ox;
    int64_t y = row % s.oh * s.strideH + ky * s.dilationH - s.padH;
    bool isInside = y >= 0 && y < s.h;
    int64_t from = isInside ? std::clamp(run.from, ox, stop) : stop;
    int64_t end = isInside ? std::clamp(run.to, from, stop) : stop;
    to = std::fill_n(to, from - ox, zeros<T>());
    const T *at =
        x + ((row / s.oh * s.h + y) * s.w + from * s.strideW + run.shift) * s.c;
    for (int64_t i = from; i < end; ++i, at += s.strideW * s.c)
      *to++ = at;
    to = std::fill_n(to, stop - end, zeros<T>());
  }
}

/// Whether tiles can read rows where they lie. Those that are many lines apart
/// would share few sets of a cache.
template <typename T> bool staysInCache(const Matrix<T> &right) {
  constexpr int64_t kApart = 1024;
  return right.rowStride * static_cast<int64_t>(sizeof(T)) % kApart != 0;
}

/// A task owns the gradients of one tap, some channels and one panel of
/// filters, and adds up all positions in order.
template <typename T>
void backwardFilter(const ConvShape &s, T *x, T *dy, T *dw) {
  if (s.isDirect())
    return depthwiseBackwardFilter(s, x, dy, dw);
  int64_t positions = s.n * s.oh * s.ow;
  if (s.isPointwise())
    return gemm(MemRef<T, 4>{x, x, 0, {1, 1, s.c, positions}, {0, 0, 1, s.c}},
                MemRef<T, 4>{dy, dy, 0, {1, 1, positions, s.f}, {0, 0, s.f, 1}},
                MemRef<T, 4>{dw, dw, 0, {1, 1, s.c, s.f}, {0, 0, s.f, 1}},
                /*accumulate=*/false);
  PanelCut<T> cut(s.f);
  int64_t least = ceilDiv(s.c, kPanelDepth);
  int64_t parts = std::clamp(ceilDiv(kWantedFilterTasks, cut.count * s.taps()),
                             least, std::max(least, s.c / kMinTaskChannels));
  EvenTiles channelParts(s.c, ceilDiv(s.c, parts));
  forEachTask<T>(cut.count * s.taps() * channelParts.count, [&](int64_t task) {
    int64_t part = task % channelParts.count;
    int64_t tap = task / channelParts.count % s.taps();
    int64_t panel = task / (channelParts.count * s.taps());
    const TileShape<T> &shape = cut.shapeOf(panel);
    int64_t c0 = channelParts.begin(part);
    EvenTiles tiles(channelParts.begin(part + 1) - c0, shape.rows);
    const T *inputs[kPanelDepth];
    T *to[TileShape<T>::kMostRows];
    for (int64_t first = 0; first < positions; first += kPanelDepth) {
      int64_t depth = std::min(kPanelDepth, positions - first);
      Matrix<T> right = matrix(dy + first * s.f + cut.begin(panel), depth,
                               cut.width(panel), s.f);
      if (right.columns < shape.columns || !staysInCache(right))
        right = packedPanel(right, shape.columns);
      findInputs(s, x + c0, tap / s.kw, tap % s.kw, first, depth, inputs);
      for (int64_t index = 0; index < tiles.count; ++index) {
        int64_t begin = tiles.begin(index);
        int64_t rows = tiles.begin(index + 1) - begin;
        for (int64_t r = 0; r < rows; ++r)
          to[r] = dw + (tap * s.c + c0 + begin + r) * s.f + cut.begin(panel);
        computeTile(shape, /*byRows=*/false, rows, right.columns, 1,
                    Tile<T>{inputs, begin, 1, depth, right.data,
                            right.rowStride, to, first > 0});
      }
    }
  });
}

constexpr bool kChannelsFirst = false;

} // namespace

// Images (n, h, w, c), filters (kh, kw, c, f); depthwise, (kh, kw, 1, c).
REMAT_CONV(conv_2d, forward, a, b, c)
REMAT_CONV(conv_2d_backward_data, backwardData, c, b, a)
REMAT_CONV(conv_2d_backward_filter, backwardFilter, a, c, b)
