//===- ConvCall.h - Convolutions as programs ask for them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What convolutions of both layouts share: shapes, and the entry points.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_CONVCALL_H
#define REMAT_RUNTIME_CORE_CONVCALL_H

#include "Gemm.h"
#include "MemRef.h"
#include "remat/Dialect/Remat/IR/ConvLayout.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace remat {

/// One dimension in space: positions of an image and of a result, and what of
/// the filter lies between them. `pad` positions before the image are zero.
struct ConvAxis {
  int64_t inputs = 1, outputs = 1, taps = 1, stride = 1, dilation = 1, pad = 0;

  bool isEmpty() const { return std::min({inputs, outputs, taps}) == 0; }
  /// Returns true if outputs are inputs, in order.
  bool isIdentity() const {
    return taps == 1 && stride == 1 && pad == 0 && outputs == inputs;
  }
};

/// A convolution of `n` images with `groups` groups side by side, of `c`
/// channels and `f` filters each. Of 2-d convolutions the depth, `z`, is one
/// position.
struct ConvShape {
  int64_t n, c, f, groups;
  ConvAxis z, y, x;

  int64_t taps() const { return z.taps * y.taps * x.taps; }
  /// Positions of an image, and of a result.
  int64_t inputs() const { return z.inputs * y.inputs * x.inputs; }
  int64_t outputs() const { return z.outputs * y.outputs * x.outputs; }
  /// Returns true if there is nothing to add up: the result, if it has elements
  /// at all, is zero.
  bool isEmpty() const {
    return std::min({n, c, f}) == 0 || z.isEmpty() || y.isEmpty() ||
           x.isEmpty();
  }
  /// Returns true if a group is too small for products (see ConvDirect.h).
  bool isDirect() const { return groups > 1 && c * f < 64; }
  /// Returns true if outputs are products of single inputs, in order.
  bool isPointwise() const {
    return z.isIdentity() && y.isIdentity() && x.isIdentity();
  }
};

/// The convolution of images of sizes `x` with filters of sizes `w` into images
/// of sizes `y`; `window` are strides, dilations and the padding in front, of
/// `rank` dimensions each.
inline ConvShape getConvShape(unsigned rank, const int64_t *x, const int64_t *w,
                              const int64_t *y, const int64_t *window,
                              bool channelsFirst) {
  ConvDims dims = getConvDims(channelsFirst, rank);
  ConvAxis axes[3];
  for (unsigned i = 0; i < rank; ++i)
    axes[3 - rank + i] = {x[dims.space + i],       y[dims.space + i],
                          w[dims.filterSpace + i], window[i],
                          window[rank + i],        window[2 * rank + i]};
  int64_t inputs = w[dims.filterChannel];
  int64_t groups =
      inputs > 0 ? std::max<int64_t>(1, x[dims.channel] / inputs) : 1;
  ConvShape s{x[0],    inputs, w[dims.filter] / groups, groups, axes[0],
              axes[1], axes[2]};
  // PyTorch's convolutions of one dimension arrive as columns. In memory they
  // are rows, which are long.
  if (s.x.inputs == 1 && s.x.outputs == 1 && s.x.taps == 1 && s.x.pad == 0)
    std::swap(s.y, s.x);
  return s;
}

/// Images in memory: how many elements their parts lie apart.
template <typename T> struct Images {
  T *data;
  int64_t image, slice, row, column, channel;

  /// Those that a convolution reads, and its results.
  static Images inputs(const ConvShape &s, T *data, bool channelsFirst) {
    return {data,       s.inputs(),     s.y.inputs,
            s.x.inputs, s.groups * s.c, channelsFirst};
  }
  static Images outputs(const ConvShape &s, T *data, bool channelsFirst) {
    return {data,        s.outputs(),    s.y.outputs,
            s.x.outputs, s.groups * s.f, channelsFirst};
  }
  T *at(int64_t n, int64_t k, int64_t i, int64_t j, int64_t c) const {
    return data + n * image + k * slice + i * row + j * column + c * channel;
  }

private:
  Images(T *data, int64_t positions, int64_t rows, int64_t columns,
         int64_t channels, bool channelsFirst)
      : data(data), image(positions * channels) {
    // Images of one position are the same in both layouts.
    bool inPlanes = channelsFirst && positions > 1;
    column = inPlanes ? 1 : channels;
    row = columns * column;
    slice = rows * row;
    channel = inPlanes ? positions : 1;
  }
};

/// Which of the outputs [begin, end) read a position of `inputs`, if number o
/// reads o * stride + shift.
inline std::pair<int64_t, int64_t> findReaders(int64_t shift, int64_t stride,
                                               int64_t inputs, int64_t begin,
                                               int64_t end) {
  int64_t from = shift < 0 ? ceilDiv(-shift, stride) : 0;
  int64_t to = inputs > shift ? (inputs - 1 - shift) / stride + 1 : 0;
  from = std::clamp(from, begin, end);
  return {from, std::clamp(to, from, end)};
}

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

/// The entry points, TWO(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y) for two
/// dimensions in space and THREE(...) for three. X, W and Y are which of the
/// operands a, b and c are images, filters and results, all row-major and
/// contiguous: images (n, h, w, c) and filters (kh, kw, c, f), depthwise (kh,
/// kw, 1, c); or, channels first, (n, c, h, w) and (f, c / groups, kh, kw).
#define REMAT_CONVOLUTIONS(TWO, THREE)                                         \
  REMAT_CONV(TWO, THREE, , forward, false, a, b, c)                            \
  REMAT_CONV(TWO, THREE, _backward_data, backwardData, false, c, b, a)         \
  REMAT_CONV(TWO, THREE, _backward_filter, backwardFilter, false, a, c, b)     \
  REMAT_CONV(TWO, THREE, _channels_first, forward, true, a, b, c)              \
  REMAT_CONV(TWO, THREE, _channels_first_backward_data, backwardData, true, c, \
             b, a)                                                             \
  REMAT_CONV(TWO, THREE, _channels_first_backward_filter, backwardFilter,      \
             true, a, c, b)

#define REMAT_CONV(TWO, THREE, NAME, FUNCTION, CHANNELS_FIRST, X, W, Y)        \
  TWO(conv_2d##NAME##_f32, FUNCTION, float, CHANNELS_FIRST, X, W, Y)           \
  TWO(conv_2d##NAME##_f64, FUNCTION, double, CHANNELS_FIRST, X, W, Y)          \
  THREE(conv_3d##NAME##_f32, FUNCTION, float, CHANNELS_FIRST, X, W, Y)         \
  THREE(conv_3d##NAME##_f64, FUNCTION, double, CHANNELS_FIRST, X, W, Y)

#endif // REMAT_RUNTIME_CORE_CONVCALL_H
