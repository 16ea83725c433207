//===- ConvDirect.h - Convolutions of few channels --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a filter reads a channel or a few (depthwise convolutions), gathering
// windows for a product moves more than it computes. These loops add shifted
// rows; a task owns what it writes, and adds up in one order.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_CONVDIRECT_H
#define REMAT_RUNTIME_CORE_CONVDIRECT_H

#include "Context.h"
#include "ConvCall.h"

#include <array>

namespace remat {

/// Outputs [from, to) of a row meet inputs from * stride + shift, ...
struct Run {
  int64_t from, to, shift;
};

inline Run runOf(const ConvAxis &axis, int64_t tap) {
  int64_t shift = tap * axis.dilation - axis.pad;
  auto [from, to] =
      findReaders(shift, axis.stride, axis.inputs, 0, axis.outputs);
  return {from, to, shift};
}

/// Input coordinate that output coordinate `o` meets under a tap, or -1.
inline int64_t inputOf(const ConvAxis &axis, int64_t o, int64_t tap) {
  int64_t i = o * axis.stride + tap * axis.dilation - axis.pad;
  return i < axis.inputs ? std::max<int64_t>(i, -1) : -1;
}

/// Output coordinate that input coordinate `i` meets under a tap, or -1.
inline int64_t outputOf(const ConvAxis &axis, int64_t i, int64_t tap) {
  int64_t o = i + axis.pad - tap * axis.dilation;
  if (o < 0 || o % axis.stride != 0)
    return -1;
  o /= axis.stride;
  return o < axis.outputs ? o : -1;
}

//===----------------------------------------------------------------------===//
// Channels first
//===----------------------------------------------------------------------===//

/// Runs of outputs that meet inputs under one filter position.
struct TapRuns {
  Run slices, rows, columns;

  TapRuns() = default;
  TapRuns(const ConvShape &s, int64_t tap)
      : slices(runOf(s.z, tap / s.x.taps / s.y.taps)),
        rows(runOf(s.y, tap / s.x.taps % s.y.taps)),
        columns(runOf(s.x, tap % s.x.taps)) {}

  /// Calls `visit(output, input, count)` for the rows of one image: positions
  /// of their first elements.
  template <typename Visit> void visit(const ConvShape &s, Visit visit) const {
    int64_t count = columns.to - columns.from;
    int64_t inputStep = s.y.stride * s.x.inputs, outputStep = s.x.outputs;
    int64_t numRows = rows.to - rows.from;
    for (int64_t oz = slices.from; oz < slices.to; ++oz) {
      int64_t output =
          (oz * s.y.outputs + rows.from) * s.x.outputs + columns.from;
      int64_t iz = oz * s.z.stride + slices.shift;
      int64_t iy = rows.from * s.y.stride + rows.shift;
      int64_t ix = columns.from * s.x.stride + columns.shift;
      int64_t input = (iz * s.y.inputs + iy) * s.x.inputs + ix;
      for (int64_t row = 0; row < numRows; ++row)
        visit(output + row * outputStep, input + row * inputStep, count);
    }
  }
};

/// Those of all filter positions: planes may be as small as the filter. Of
/// large filters they are computed when they are needed.
class TapTable {
public:
  explicit TapTable(const ConvShape &s) : shape(s) {
    for (int64_t tap = 0; tap < std::min(kKept, s.taps()); ++tap)
      kept[tap] = TapRuns(s, tap);
  }
  TapRuns operator[](int64_t tap) const {
    return tap < kKept ? kept[tap] : TapRuns(shape, tap);
  }

private:
  static constexpr int64_t kKept = 64;

  const ConvShape &shape;
  TapRuns kept[kKept];
};

template <typename T>
void directForward(Context &context, const ConvShape &s, const T *x, const T *w,
                   T *y) {
  int64_t filters = s.groups * s.f, channels = s.groups * s.c;
  TapTable runs(s);
  parallelFor(context, s.n * filters, wantedParts(*context.team),
              [&](Context &, int64_t plane) {
                int64_t n = plane / filters, f = plane % filters;
                T *to = y + plane * s.outputs();
                std::fill_n(to, s.outputs(), T(0));
                for (int64_t c = 0; c < s.c; ++c) {
                  const T *from =
                      x + (n * channels + f / s.f * s.c + c) * s.inputs();
                  const T *taps = w + (f * s.c + c) * s.taps();
                  for (int64_t tap = 0; tap < s.taps(); ++tap)
                    runs[tap].visit(
                        s, [&](int64_t output, int64_t input, int64_t count) {
                          T factor = taps[tap], *out = to + output;
                          const T *in = from + input;
                          if (s.x.stride == 1)
                            for (int64_t j = 0; j < count; ++j)
                              out[j] += factor * in[j];
                          else
                            for (int64_t j = 0; j < count; ++j)
                              out[j] += factor * in[j * s.x.stride];
                        });
                }
              });
}

template <typename T>
void directBackwardData(Context &context, const ConvShape &s, const T *dy,
                        const T *w, T *dx) {
  int64_t filters = s.groups * s.f, channels = s.groups * s.c;
  TapTable runs(s);
  parallelFor(context, s.n * channels, wantedParts(*context.team),
              [&](Context &, int64_t plane) {
                int64_t n = plane / channels, c = plane % channels;
                T *to = dx + plane * s.inputs();
                std::fill_n(to, s.inputs(), T(0));
                for (int64_t f = c / s.c * s.f; f < (c / s.c + 1) * s.f; ++f) {
                  const T *from = dy + (n * filters + f) * s.outputs();
                  const T *taps = w + (f * s.c + c % s.c) * s.taps();
                  for (int64_t tap = 0; tap < s.taps(); ++tap)
                    runs[tap].visit(
                        s, [&](int64_t output, int64_t input, int64_t count) {
                          T factor = taps[tap], *out = to + input;
                          const T *in = from + output;
                          if (s.x.stride == 1)
                            for (int64_t j = 0; j < count; ++j)
                              out[j] += factor * in[j];
                          else
                            for (int64_t j = 0; j < count; ++j)
                              out[j * s.x.stride] += factor * in[j];
                        });
                }
              });
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
void directBackwardFilter(Context &context, const ConvShape &s, const T *x,
                          const T *dy, T *dw) {
  int64_t filters = s.groups * s.f, channels = s.groups * s.c;
  TapTable runs(s);
  parallelFor(context, filters * s.c, wantedParts(*context.team),
              [&](Context &, int64_t task) {
                int64_t f = task / s.c, c = f / s.f * s.c + task % s.c;
                for (int64_t tap = 0; tap < s.taps(); ++tap) {
                  Lanes<T> lanes;
                  for (int64_t n = 0; n < s.n; ++n) {
                    const T *from = x + (n * channels + c) * s.inputs();
                    const T *ct = dy + (n * filters + f) * s.outputs();
                    runs[tap].visit(s, [&](int64_t output, int64_t input,
                                           int64_t count) {
                      lanes.add(from + input, s.x.stride, ct + output, count);
                    });
                  }
                  dw[task * s.taps() + tap] = lanes.total();
                }
              });
}

//===----------------------------------------------------------------------===//
// Channels last, a channel and a filter in each group
//===----------------------------------------------------------------------===//

/// Outputs of inputs, or the other way round: each row adds up what it meets of
/// the rows that are read.
template <bool isForward, typename T>
void addDepthwise(Context &context, const ConvShape &s, const T *read,
                  const T *w, T *result) {
  auto sizeOfResult = [](const ConvAxis &axis) {
    return isForward ? axis.outputs : axis.inputs;
  };
  auto sizeOfRead = [](const ConvAxis &axis) {
    return isForward ? axis.inputs : axis.outputs;
  };
  auto meet = [](const ConvAxis &axis, int64_t at, int64_t tap) {
    return isForward ? inputOf(axis, at, tap) : outputOf(axis, at, tap);
  };
  int64_t channels = s.groups;
  int64_t slices = sizeOfResult(s.z), rows = sizeOfResult(s.y);
  int64_t length = sizeOfResult(s.x) * channels;
  parallelFor(context, s.n * slices * rows, wantedParts(*context.team),
              [&](Context &, int64_t row) {
                int64_t n = row / rows / slices, z = row / rows % slices,
                        y = row % rows;
                T *to = result + row * length;
                std::fill_n(to, length, T(0));
                for (int64_t k = 0; k < s.z.taps * s.y.taps; ++k) {
                  int64_t readZ = meet(s.z, z, k / s.y.taps);
                  int64_t readY = meet(s.y, y, k % s.y.taps);
                  if (readZ < 0 || readY < 0)
                    continue;
                  const T *from =
                      read + ((n * sizeOfRead(s.z) + readZ) * sizeOfRead(s.y) +
                              readY) *
                                 sizeOfRead(s.x) * channels;
                  for (int64_t kx = 0; kx < s.x.taps; ++kx) {
                    const T *factors = w + (k * s.x.taps + kx) * channels;
                    Run run = runOf(s.x, kx);
                    for (int64_t ox = run.from; ox < run.to; ++ox) {
                      int64_t ix = ox * s.x.stride + run.shift;
                      T *out = to + (isForward ? ox : ix) * channels;
                      const T *in = from + (isForward ? ix : ox) * channels;
                      for (int64_t c = 0; c < channels; ++c)
                        out[c] += factors[c] * in[c];
                    }
                  }
                }
              });
}

template <typename T>
void depthwiseForward(Context &context, const ConvShape &s, const T *x,
                      const T *w, T *y) {
  addDepthwise</*isForward=*/true>(context, s, x, w, y);
}

template <typename T>
void depthwiseBackwardData(Context &context, const ConvShape &s, const T *dy,
                           const T *w, T *dx) {
  addDepthwise</*isForward=*/false>(context, s, dy, w, dx);
}

template <typename T>
void depthwiseBackwardFilter(Context &context, const ConvShape &s, const T *x,
                             const T *dy, T *dw) {
  constexpr int64_t kBlock = 64;
  int64_t channels = s.groups, blocks = ceilDiv(channels, kBlock);
  parallelFor(
      context, s.taps() * blocks, wantedParts(*context.team),
      [&](Context &, int64_t task) {
        int64_t tap = task / blocks, c0 = task % blocks * kBlock;
        int64_t count = std::min(kBlock, channels - c0);
        std::array<T, kBlock> sums{};
        TapRuns runs(s, tap);
        for (int64_t n = 0; n < s.n; ++n)
          runs.visit(s, [&](int64_t output, int64_t input, int64_t length) {
            const T *in = x + (n * s.inputs() + input) * channels + c0;
            const T *ct = dy + (n * s.outputs() + output) * channels + c0;
            for (int64_t i = 0; i < length; ++i)
              for (int64_t c = 0; c < count; ++c)
                sums[c] +=
                    in[i * s.x.stride * channels + c] * ct[i * channels + c];
          });
        std::copy_n(sums.begin(), count, dw + tap * channels + c0);
      });
}

} // namespace remat

#endif // REMAT_RUNTIME_CORE_CONVDIRECT_H
