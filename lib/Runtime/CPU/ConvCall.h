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
  if (channelsFirst && s.w == 1 && s.ow == 1 && s.kw == 1 && s.padW == 0) {
    std::swap(s.h, s.w);
    std::swap(s.oh, s.ow);
    std::swap(s.kh, s.kw);
    std::swap(s.strideH, s.strideW);
    std::swap(s.dilationH, s.dilationW);
    std::swap(s.padH, s.padW);
  }
  return s;
}

/// Filter positions along one dimension that meet some results: number i is
/// position first + i * step, and what it reads of the input lies shift + i *
/// shiftStep behind where the result reads with no shift.
struct TapAxis {
  int64_t count, first, step, shift, shiftStep;

  /// All `taps` of a convolution.
  static TapAxis forward(int64_t taps, int64_t dilation, int64_t pad) {
    return {taps, 0, 1, -pad, dilation};
  }
  /// Those through which input positions residue, residue + stride, ... meet
  /// outputs. Together they read consecutive ones.
  static TapAxis backward(int64_t taps, int64_t dilation, int64_t pad,
                          int64_t stride, int64_t residue) {
    int64_t step = stride / std::gcd(stride, dilation), first = 0;
    while (first < std::min(taps, step) &&
           (residue + pad - first * dilation) % stride != 0)
      ++first;
    if (first >= std::min(taps, step))
      return {0, 0, 1, 0, 0};
    return {(taps - 1 - first) / step + 1, first, step,
            (residue + pad - first * dilation) / stride,
            -step * dilation / stride};
  }
};

/// One of them: what it reads lies `y` rows and `x` columns further; `number`
/// is its place in the filter.
struct Tap {
  int64_t y, x, number;
};

/// Those of both dimensions, row by row.
struct TapGrid {
  TapAxis y, x;
  /// Of the filter.
  int64_t width;

  static TapGrid forward(const ConvShape &s) {
    return {TapAxis::forward(s.kh, s.dilationH, s.padH),
            TapAxis::forward(s.kw, s.dilationW, s.padW), s.kw};
  }
  static TapGrid backward(const ConvShape &s, int64_t y0, int64_t x0) {
    return {TapAxis::backward(s.kh, s.dilationH, s.padH, s.strideH, y0),
            TapAxis::backward(s.kw, s.dilationW, s.padW, s.strideW, x0), s.kw};
  }
  int64_t count() const { return y.count * x.count; }
  Tap operator[](int64_t index) const {
    int64_t i = index / x.count, j = index % x.count;
    return {y.shift + i * y.shiftStep, x.shift + j * x.shiftStep,
            (y.first + i * y.step) * width + x.first + j * x.step};
  }
};

template <typename T> void fillWithZeros(const MemRef<T, 4> &memory) {
  int64_t elements = 1;
  for (int64_t size : memory.sizes)
    elements *= size;
  std::fill_n(memory.data(), elements, T(0));
}

/// Dense row-major matrix.
template <typename T>
Matrix<T> matrix(T *data, int64_t rows, int64_t columns, int64_t stride) {
  return {data, rows, columns, stride, 1};
}
template <typename T>
Matrix<T> transposed(T *data, int64_t rows, int64_t columns, int64_t stride) {
  return {data, rows, columns, 1, stride};
}

} // namespace remat

/// The entry points of FUNCTION for f32 and f64. X, W and Y are which of the
/// operands a, b and c are images, filters and results, all row-major and
/// contiguous; `kChannelsFirst` is the including file's.
#define REMAT_CONV(NAME, FUNCTION, X, W, Y)                                    \
  REMAT_CONV_OF(NAME##_f32, FUNCTION, float, X, W, Y)                          \
  REMAT_CONV_OF(NAME##_f64, FUNCTION, double, X, W, Y)

#define REMAT_CONV_OF(NAME, FUNCTION, T, X, W, Y)                              \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 4> *a, MemRef<T, 4> *b, MemRef<T, 4> *c, int64_t strideH,      \
      int64_t strideW, int64_t dilationH, int64_t dilationW, int64_t padH,     \
      int64_t padW) {                                                          \
    int64_t window[] = {strideH, strideW, dilationH, dilationW, padH, padW};   \
    ConvShape shape =                                                          \
        getConvShape(X->sizes, W->sizes, Y->sizes, window, kChannelsFirst);    \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(shape, a->data(), b->data(), c->data());                       \
  }

#endif // REMAT_RUNTIME_CPU_CONVCALL_H
