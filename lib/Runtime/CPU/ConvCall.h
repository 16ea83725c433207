//===- ConvCall.h - Convolutions as programs ask for them -------*- C++ -*-===//
//
// What convolutions of both layouts share: shapes, and the entry points.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CPU_CONVCALL_H
#define REMAT_RUNTIME_CPU_CONVCALL_H

#include "Gemm.h"
#include "MemRef.h"
#include "remat/Dialect/Remat/IR/ConvLayout.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace remat {

/// A 2-d convolution of images (n, h, w, c) with filters (kh, kw, c, f) into
/// images (n, oh, ow, f). Positions outside the input are zero; `padH` and
/// `padW` count those before it. There are `groups` of them side by side: `c`
/// and `f` are the channels and filters of one.
struct ConvShape {
  int64_t n, h, w, c, kh, kw, f, oh, ow;
  int64_t strideH, strideW, dilationH, dilationW, padH, padW;
  int64_t groups = 1;

  int64_t taps() const { return kh * kw; }
  /// Whether there is nothing to add up: the result, if it has elements at all,
  /// is zero.
  bool isEmpty() const {
    return std::min({n, h, w, c, kh, kw, f, oh, ow}) == 0;
  }
  /// Whether a group is too small for products of matrices (ConvDirect.h).
  bool isDirect() const { return groups > 1 && c * f < 64; }
  /// Whether an output position is a product of one input position in order.
  bool isPointwise() const {
    return taps() == 1 && strideH == 1 && strideW == 1 && padH == 0 &&
           padW == 0 && oh == h && ow == w;
  }
};

/// The convolution of images of sizes `x` with filters of sizes `w` into images
/// of sizes `y`; `window` are strides, dilations and the padding in front.
inline ConvShape getConvShape(const int64_t *x, const int64_t *w,
                              const int64_t *y, const int64_t *window,
                              bool channelsFirst) {
  ConvDims dims = getConvDims(channelsFirst);
  const int64_t *in = x + dims.row, *out = y + dims.row;
  const int64_t *taps = w + dims.filterRow;
  int64_t inputs = w[dims.filterChannel];
  int64_t groups =
      inputs > 0 ? std::max<int64_t>(1, x[dims.channel] / inputs) : 1;
  ConvShape s{x[0],
              in[0],
              in[1],
              inputs,
              taps[0],
              taps[1],
              w[dims.filter] / groups,
              out[0],
              out[1],
              window[0],
              window[1],
              window[2],
              window[3],
              window[4],
              window[5],
              groups};
  // PyTorch's convolutions of one dimension arrive as columns. In memory they
  // are rows, which are long.
  if (s.w == 1 && s.ow == 1 && s.kw == 1 && s.padW == 0) {
    std::swap(s.h, s.w);
    std::swap(s.oh, s.ow);
    std::swap(s.kh, s.kw);
    std::swap(s.strideH, s.strideW);
    std::swap(s.dilationH, s.dilationW);
    std::swap(s.padH, s.padW);
  }
  return s;
}

/// Images in memory: how many elements their parts lie apart.
template <typename T> struct Images {
  T *data;
  int64_t image, row, column, channel;

  Images(T *data, int64_t h, int64_t w, int64_t channels, bool channelsFirst)
      : data(data), image(h * w * channels) {
    // Images of one position are the same in both layouts.
    bool inPlanes = channelsFirst && h * w > 1;
    column = inPlanes ? 1 : channels;
    row = w * column;
    channel = inPlanes ? h * w : 1;
  }
  T *at(int64_t n, int64_t i, int64_t j, int64_t c) const {
    return data + n * image + i * row + j * column + c * channel;
  }
};

/// The same for filters; `group` is the distance of two groups' filters.
template <typename T> struct Filters {
  T *data;
  int64_t taps, tap, channel, filter, group;

  Filters(T *data, const ConvShape &s, bool channelsFirst)
      : data(data), taps(s.taps()), tap(channelsFirst ? 1 : s.c * s.f),
        channel(channelsFirst ? s.taps() : s.f),
        filter(channelsFirst ? s.c * s.taps() : 1),
        group(s.f * s.c * s.taps()) {}
};

template <typename T> void fillWithZeros(const MemRef<T, 4> &memory) {
  int64_t elements = 1;
  for (int64_t size : memory.sizes)
    elements *= size;
  std::fill_n(memory.data(), elements, T(0));
}

} // namespace remat

/// The entry points of FUNCTION for f32 and f64. X, W and Y are which of the
/// operands a, b and c are images, filters and results, all row-major and
/// contiguous.
#define REMAT_CONV(NAME, FUNCTION, CHANNELS_FIRST, X, W, Y)                    \
  REMAT_CONV_OF(NAME##_f32, FUNCTION, float, CHANNELS_FIRST, X, W, Y)          \
  REMAT_CONV_OF(NAME##_f64, FUNCTION, double, CHANNELS_FIRST, X, W, Y)

#define REMAT_CONV_OF(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 4> *a, MemRef<T, 4> *b, MemRef<T, 4> *c, int64_t strideH,      \
      int64_t strideW, int64_t dilationH, int64_t dilationW, int64_t padH,     \
      int64_t padW) {                                                          \
    int64_t window[] = {strideH, strideW, dilationH, dilationW, padH, padW};   \
    ConvShape shape =                                                          \
        getConvShape(X->sizes, W->sizes, Y->sizes, window, CHANNELS_FIRST);    \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(shape, CHANNELS_FIRST, a->data(), b->data(), c->data());       \
  }

#endif // REMAT_RUNTIME_CPU_CONVCALL_H
