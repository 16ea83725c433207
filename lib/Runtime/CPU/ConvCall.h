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

/// A convolution of images (n, d, h, w, c) with filters (kd, kh, kw, c, f) into
/// images (n, od, oh, ow, f). Positions outside the input are zero; `padD`,
/// `padH` and `padW` count those before it. There are `groups` of them side by
/// side: `c` and `f` are the channels and filters of one. Of 2-d convolutions
/// the depth is 1.
struct ConvShape {
  int64_t n, d, h, w, c, kd, kh, kw, f, od, oh, ow;
  int64_t strideD, strideH, strideW, dilationD, dilationH, dilationW, padD,
      padH, padW;
  int64_t groups;

  int64_t taps() const { return kd * kh * kw; }
  /// Positions of an image, and of a result.
  int64_t inputs() const { return d * h * w; }
  int64_t outputs() const { return od * oh * ow; }
  /// Whether there is nothing to add up: the result, if it has elements at all,
  /// is zero.
  bool isEmpty() const {
    return std::min({n, d, h, w, c, kd, kh, kw, f, od, oh, ow}) == 0;
  }
  /// Whether a group is too small for products of matrices (ConvDirect.h).
  bool isDirect() const { return groups > 1 && c * f < 64; }
  /// Whether an output position is a product of one input position in order.
  bool isPointwise() const {
    return taps() == 1 && strideD == 1 && strideH == 1 && strideW == 1 &&
           padD == 0 && padH == 0 && padW == 0 && od == d && oh == h && ow == w;
  }
};

/// The convolution of images of sizes `x` with filters of sizes `w` into images
/// of sizes `y`; `window` are strides, dilations and the padding in front, of
/// `rank` dimensions each.
template <unsigned rank>
ConvShape getConvShape(const int64_t *x, const int64_t *w, const int64_t *y,
                       const int64_t *window, bool channelsFirst) {
  ConvDims dims = getConvDims(channelsFirst, rank);
  // Number `axis` of depth, height and width.
  auto get = [](const int64_t *sizes, unsigned axis, int64_t other) {
    return rank == 2 && axis == 0 ? other : sizes[axis + rank - 3];
  };
  const int64_t *in = x + dims.space, *out = y + dims.space;
  const int64_t *taps = w + dims.filterSpace;
  const int64_t *strides = window, *dilations = window + rank,
                *pads = window + 2 * rank;
  int64_t inputs = w[dims.filterChannel];
  int64_t groups =
      inputs > 0 ? std::max<int64_t>(1, x[dims.channel] / inputs) : 1;
  ConvShape s{x[0],
              get(in, 0, 1),
              get(in, 1, 1),
              get(in, 2, 1),
              inputs,
              get(taps, 0, 1),
              get(taps, 1, 1),
              get(taps, 2, 1),
              w[dims.filter] / groups,
              get(out, 0, 1),
              get(out, 1, 1),
              get(out, 2, 1),
              get(strides, 0, 1),
              get(strides, 1, 1),
              get(strides, 2, 1),
              get(dilations, 0, 1),
              get(dilations, 1, 1),
              get(dilations, 2, 1),
              get(pads, 0, 0),
              get(pads, 1, 0),
              get(pads, 2, 0),
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
  int64_t image, slice, row, column, channel;

  Images(T *data, int64_t d, int64_t h, int64_t w, int64_t channels,
         bool channelsFirst)
      : data(data), image(d * h * w * channels) {
    // Images of one position are the same in both layouts.
    bool inPlanes = channelsFirst && d * h * w > 1;
    column = inPlanes ? 1 : channels;
    row = w * column;
    slice = h * row;
    channel = inPlanes ? d * h * w : 1;
  }
  T *at(int64_t n, int64_t k, int64_t i, int64_t j, int64_t c) const {
    return data + n * image + k * slice + i * row + j * column + c * channel;
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

template <typename T, int rank>
void fillWithZeros(const MemRef<T, rank> &memory) {
  int64_t elements = 1;
  for (int64_t size : memory.sizes)
    elements *= size;
  std::fill_n(memory.data(), elements, T(0));
}

} // namespace remat

/// The entry points of FUNCTION for f32 and f64, and two and three dimensions
/// in space. X, W and Y are which of the operands a, b and c are images,
/// filters and results, all row-major and contiguous.
#define REMAT_CONV(NAME, FUNCTION, CHANNELS_FIRST, X, W, Y)                    \
  REMAT_CONV_2D(conv_2d##NAME##_f32, FUNCTION, float, CHANNELS_FIRST, X, W, Y) \
  REMAT_CONV_2D(conv_2d##NAME##_f64, FUNCTION, double, CHANNELS_FIRST, X, W,   \
                Y)                                                             \
  REMAT_CONV_3D(conv_3d##NAME##_f32, FUNCTION, float, CHANNELS_FIRST, X, W, Y) \
  REMAT_CONV_3D(conv_3d##NAME##_f64, FUNCTION, double, CHANNELS_FIRST, X, W, Y)

#define REMAT_CONV_2D(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 4> *a, MemRef<T, 4> *b, MemRef<T, 4> *c, int64_t strideH,      \
      int64_t strideW, int64_t dilationH, int64_t dilationW, int64_t padH,     \
      int64_t padW) {                                                          \
    int64_t window[] = {strideH, strideW, dilationH, dilationW, padH, padW};   \
    ConvShape shape =                                                          \
        getConvShape<2>(X->sizes, W->sizes, Y->sizes, window, CHANNELS_FIRST); \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(shape, CHANNELS_FIRST, a->data(), b->data(), c->data());       \
  }

#define REMAT_CONV_3D(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 5> *a, MemRef<T, 5> *b, MemRef<T, 5> *c, int64_t strideD,      \
      int64_t strideH, int64_t strideW, int64_t dilationD, int64_t dilationH,  \
      int64_t dilationW, int64_t padD, int64_t padH, int64_t padW) {           \
    int64_t window[] = {strideD,   strideH, strideW, dilationD, dilationH,     \
                        dilationW, padD,    padH,    padW};                    \
    ConvShape shape =                                                          \
        getConvShape<3>(X->sizes, W->sizes, Y->sizes, window, CHANNELS_FIRST); \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(shape, CHANNELS_FIRST, a->data(), b->data(), c->data());       \
  }

#endif // REMAT_RUNTIME_CPU_CONVCALL_H
