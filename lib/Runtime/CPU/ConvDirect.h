//===- ConvDirect.h - Convolutions of few channels --------------*- C++ -*-===//
//
// Where a filter reads a channel or a few (depthwise convolutions), gathering
// windows for a product moves more than it computes. These loops add shifted
// rows; a task owns what it writes, and adds up in one order.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CPU_CONVDIRECT_H
#define REMAT_RUNTIME_CPU_CONVDIRECT_H

#include "ConvCall.h"

#include <array>

namespace remat {

/// Outputs [from, to) of a row meet inputs from * stride + shift, ...
struct Run {
  int64_t from, to, shift;
};

inline Run runOf(int64_t tap, int64_t dilation, int64_t pad, int64_t stride,
                 int64_t inputs, int64_t outputs) {
  int64_t shift = tap * dilation - pad;
  int64_t from = shift < 0 ? ceilDiv(-shift, stride) : 0;
  int64_t to = inputs > shift ? (inputs - 1 - shift) / stride + 1 : 0;
  from = std::min(from, outputs);
  return {from, std::clamp(to, from, outputs), shift};
}

/// Output coordinate that input coordinate `i` meets under tap `k`, or -1.
inline int64_t outputOf(int64_t i, int64_t k, int64_t dilation, int64_t pad,
                        int64_t stride, int64_t outputs) {
  int64_t o = i + pad - k * dilation;
  if (o < 0 || o % stride != 0)
    return -1;
  o /= stride;
  return o < outputs ? o : -1;
}

//===----------------------------------------------------------------------===//
// Channels first
//===----------------------------------------------------------------------===//

/// Calls `visit(output, input, count)` for the runs of one plane under filter
/// position (ky, kx): offsets of their first elements.
template <typename Visit>
void visitPlane(const ConvShape &s, int64_t ky, int64_t kx, Visit visit) {
  Run rows = runOf(ky, s.dilationH, s.padH, s.strideH, s.h, s.oh);
  Run columns = runOf(kx, s.dilationW, s.padW, s.strideW, s.w, s.ow);
  for (int64_t oy = rows.from; oy < rows.to; ++oy)
    visit(oy * s.ow + columns.from,
          (oy * s.strideH + rows.shift) * s.w + columns.from * s.strideW +
              columns.shift,
          columns.to - columns.from);
}

template <typename T>
void directForward(const ConvShape &s, const T *x, const T *w, T *y) {
  int64_t filters = s.groups * s.f, channels = s.groups * s.c;
#pragma omp parallel for
  for (int64_t plane = 0; plane < s.n * filters; ++plane) {
    int64_t n = plane / filters, f = plane % filters;
    T *to = y + plane * s.oh * s.ow;
    std::fill_n(to, s.oh * s.ow, T(0));
    for (int64_t c = 0; c < s.c; ++c) {
      const T *from = x + (n * channels + f / s.f * s.c + c) * s.h * s.w;
      const T *taps = w + (f * s.c + c) * s.taps();
      for (int64_t tap = 0; tap < s.taps(); ++tap)
        visitPlane(s, tap / s.kw, tap % s.kw,
                   [&](int64_t output, int64_t input, int64_t count) {
                     T factor = taps[tap], *out = to + output;
                     const T *in = from + input;
                     if (s.strideW == 1)
                       for (int64_t j = 0; j < count; ++j)
                         out[j] += factor * in[j];
                     else
                       for (int64_t j = 0; j < count; ++j)
                         out[j] += factor * in[j * s.strideW];
                   });
    }
  }
}

template <typename T>
void directBackwardData(const ConvShape &s, const T *dy, const T *w, T *dx) {
  int64_t filters = s.groups * s.f, channels = s.groups * s.c;
#pragma omp parallel for
  for (int64_t plane = 0; plane < s.n * channels; ++plane) {
    int64_t n = plane / channels, c = plane % channels;
    T *to = dx + plane * s.h * s.w;
    std::fill_n(to, s.h * s.w, T(0));
    for (int64_t f = c / s.c * s.f; f < (c / s.c + 1) * s.f; ++f) {
      const T *from = dy + (n * filters + f) * s.oh * s.ow;
      const T *taps = w + (f * s.c + c % s.c) * s.taps();
      for (int64_t tap = 0; tap < s.taps(); ++tap)
        visitPlane(s, tap / s.kw, tap % s.kw,
                   [&](int64_t output, int64_t input, int64_t count) {
                     T factor = taps[tap], *out = to + input;
                     const T *in = from + output;
                     if (s.strideW == 1)
                       for (int64_t j = 0; j < count; ++j)
                         out[j] += factor * in[j];
                     else
                       for (int64_t j = 0; j < count; ++j)
                         out[j * s.strideW] += factor * in[j];
                   });
    }
  }
}

/// The sum of products of two rows, in as many parts as a vector has lanes.
template <typename T> struct Lanes {
  static constexpr int64_t kCount = 16;
  std::array<T, kCount> sums{};

  void add(const T *a, int64_t stride, const T *b, int64_t count) {
    if (stride == 1)
      addBlocks<1>(a, b, count);
    else if (stride == 2)
      addBlocks<2>(a, b, count);
    else
      for (int64_t j = 0; j < count; ++j)
        sums[j % kCount] += a[j * stride] * b[j];
  }
  /// In a copy: the compiler cannot know that rows and sums lie apart.
  template <int64_t kStride>
  void addBlocks(const T *a, const T *b, int64_t count) {
    std::array<T, kCount> now = sums;
    int64_t j = 0;
    for (; j + kCount <= count; j += kCount)
      for (int64_t lane = 0; lane < kCount; ++lane)
        now[lane] += a[(j + lane) * kStride] * b[j + lane];
    for (int64_t lane = 0; lane < kCount; lane += 4) {
      int64_t left = count - j - lane;
      for (int64_t i = 0; i < 4; ++i)
        if (left >= 4 || i < left)
          now[lane + i] += a[(j + lane + i) * kStride] * b[j + lane + i];
    }
    sums = now;
  }
  T total() const {
    T sum = 0;
    for (T part : sums)
      sum += part;
    return sum;
  }
};

template <typename T>
void directBackwardFilter(const ConvShape &s, const T *x, const T *dy, T *dw) {
  int64_t filters = s.groups * s.f, channels = s.groups * s.c;
#pragma omp parallel for
  for (int64_t task = 0; task < filters * s.c; ++task) {
    int64_t f = task / s.c, c = f / s.f * s.c + task % s.c;
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      Lanes<T> lanes;
      for (int64_t n = 0; n < s.n; ++n) {
        const T *from = x + (n * channels + c) * s.h * s.w;
        const T *ct = dy + (n * filters + f) * s.oh * s.ow;
        visitPlane(s, tap / s.kw, tap % s.kw,
                   [&](int64_t output, int64_t input, int64_t count) {
                     lanes.add(from + input, s.strideW, ct + output, count);
                   });
      }
      dw[task * s.taps() + tap] = lanes.total();
    }
  }
}

//===----------------------------------------------------------------------===//
// Channels last, a channel and a filter in each group
//===----------------------------------------------------------------------===//

template <typename T>
void depthwiseForward(const ConvShape &s, const T *x, const T *w, T *y) {
  int64_t channels = s.groups;
#pragma omp parallel for
  for (int64_t row = 0; row < s.n * s.oh; ++row) {
    T *to = y + row * s.ow * channels;
    std::fill_n(to, s.ow * channels, T(0));
    for (int64_t ky = 0; ky < s.kh; ++ky) {
      int64_t iy = row % s.oh * s.strideH + ky * s.dilationH - s.padH;
      if (iy < 0 || iy >= s.h)
        continue;
      const T *from = x + (row / s.oh * s.h + iy) * s.w * channels;
      for (int64_t kx = 0; kx < s.kw; ++kx) {
        const T *factors = w + (ky * s.kw + kx) * channels;
        Run run = runOf(kx, s.dilationW, s.padW, s.strideW, s.w, s.ow);
        for (int64_t ox = run.from; ox < run.to; ++ox) {
          const T *in = from + (ox * s.strideW + run.shift) * channels;
          for (int64_t c = 0; c < channels; ++c)
            to[ox * channels + c] += factors[c] * in[c];
        }
      }
    }
  }
}

template <typename T>
void depthwiseBackwardData(const ConvShape &s, const T *dy, const T *w, T *dx) {
  int64_t channels = s.groups;
#pragma omp parallel for
  for (int64_t row = 0; row < s.n * s.h; ++row) {
    T *to = dx + row * s.w * channels;
    std::fill_n(to, s.w * channels, T(0));
    for (int64_t ky = 0; ky < s.kh; ++ky) {
      int64_t oy =
          outputOf(row % s.h, ky, s.dilationH, s.padH, s.strideH, s.oh);
      if (oy < 0)
        continue;
      const T *from = dy + (row / s.h * s.oh + oy) * s.ow * channels;
      for (int64_t kx = 0; kx < s.kw; ++kx) {
        const T *factors = w + (ky * s.kw + kx) * channels;
        Run run = runOf(kx, s.dilationW, s.padW, s.strideW, s.w, s.ow);
        for (int64_t ox = run.from; ox < run.to; ++ox) {
          T *out = to + (ox * s.strideW + run.shift) * channels;
          for (int64_t c = 0; c < channels; ++c)
            out[c] += factors[c] * from[ox * channels + c];
        }
      }
    }
  }
}

template <typename T>
void depthwiseBackwardFilter(const ConvShape &s, const T *x, const T *dy,
                             T *dw) {
  constexpr int64_t kBlock = 64;
  int64_t channels = s.groups, blocks = ceilDiv(channels, kBlock);
#pragma omp parallel for
  for (int64_t task = 0; task < s.taps() * blocks; ++task) {
    int64_t tap = task / blocks, c0 = task % blocks * kBlock;
    int64_t count = std::min(kBlock, channels - c0);
    std::array<T, kBlock> sums{};
    Run rows = runOf(tap / s.kw, s.dilationH, s.padH, s.strideH, s.h, s.oh);
    Run run = runOf(tap % s.kw, s.dilationW, s.padW, s.strideW, s.w, s.ow);
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t oy = rows.from; oy < rows.to; ++oy) {
        const T *from =
            x + (n * s.h + oy * s.strideH + rows.shift) * s.w * channels + c0;
        const T *ct = dy + (n * s.oh + oy) * s.ow * channels + c0;
        for (int64_t ox = run.from; ox < run.to; ++ox) {
          const T *in = from + (ox * s.strideW + run.shift) * channels;
          for (int64_t c = 0; c < count; ++c)
            sums[c] += in[c] * ct[ox * channels + c];
        }
      }
    std::copy_n(sums.begin(), count, dw + tap * channels + c0);
  }
}

} // namespace remat

#endif // REMAT_RUNTIME_CPU_CONVDIRECT_H
