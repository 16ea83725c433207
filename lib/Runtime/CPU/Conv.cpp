//===- Conv.cpp - Convolutions as products of gathered positions ----------===//
//
// OpenBLAS has no convolution. Gathering all positions would take kh*kw times
// the input's memory; gathering a piece for each product takes a fixed
// workspace, and the padding never exists in memory.
//
//===----------------------------------------------------------------------===//

#include "ConvDirect.h"
#include "ConvWorkspace.h"

#include <cstring>

using namespace remat;

namespace {

/// A position of an image batch.
struct Position {
  int64_t n, y, x;
};

/// Walks positions of a (sub)grid in row-major order without divisions.
struct Grid {
  int64_t height, width;
  Position at(int64_t index) const {
    return {index / (height * width), index / width % height, index % width};
  }
  void advance(Position &p) const {
    if (++p.x == width) {
      p.x = 0;
      if (++p.y == height) {
        p.y = 0;
        ++p.n;
      }
    }
  }
};

/// Copies `count` elements, zeros if `from` is null.
template <typename T> void put(T *to, const T *from, int64_t count) {
  if (from)
    std::memcpy(to, from, count * sizeof(T));
  else
    std::memset(to, 0, count * sizeof(T));
}

/// Row r of `to` is input position of output position `first + r` under each of
/// `taps` filter positions from `firstTap`, channels [c0, c0 + channels).
template <typename T>
void gather(const ConvShape &s, const T *x, int64_t first, int64_t rows,
            int64_t firstTap, int64_t taps, int64_t c0, int64_t channels,
            T *to) {
  Grid grid{s.oh, s.ow};
  Position p = grid.at(first);
  for (int64_t r = 0; r < rows; ++r, grid.advance(p)) {
    for (int64_t t = firstTap; t < firstTap + taps; ++t, to += channels) {
      int64_t y = p.y * s.strideH + t / s.kw * s.dilationH - s.padH;
      int64_t xx = p.x * s.strideW + t % s.kw * s.dilationW - s.padW;
      bool inside = y >= 0 && y < s.h && xx >= 0 && xx < s.w;
      put(to, inside ? x + ((p.n * s.h + y) * s.w + xx) * s.c + c0 : nullptr,
          channels);
    }
  }
}

template <typename T>
void forward(const ConvShape &s, T *x, T *w, T *y,
             const MemRef<int8_t, 1> &memory) {
  if (s.isDirect())
    return depthwiseForward(s, x, w, y);
  ConvPlan plan = planConvForward(s);
  Workspace<T> workspace = divide<T>(plan, memory);
  int64_t positions = s.n * s.oh * s.ow;
#pragma omp parallel for schedule(dynamic) num_threads(workspace.threads)
  for (int64_t task = 0; task < plan.tasks; ++task) {
    int64_t first = task * plan.rows;
    int64_t rows = std::min(plan.rows, positions - first);
    Matrix<T> out = matrix(y + first * s.f, rows, s.f, s.f);
    if (s.isPointwise()) {
      multiply(matrix(x + first * s.c, rows, s.c, s.c),
               matrix(w, s.c, s.f, s.f), out, false);
      continue;
    }
    T *block = workspace.slot();
    for (int64_t tap = 0; tap < s.taps(); tap += plan.taps) {
      int64_t taps = std::min(plan.taps, s.taps() - tap), depth = taps * s.c;
      gather(s, x, first, rows, tap, taps, 0, s.c, block);
      multiply(matrix(block, rows, depth, depth),
               matrix(w + tap * s.c * s.f, depth, s.f, s.f), out, tap != 0);
    }
  }
}

template <typename T>
void backwardData(const ConvShape &s, T *dy, T *w, T *dx,
                  const MemRef<int8_t, 1> &memory) {
  if (s.isDirect())
    return depthwiseBackwardData(s, dy, w, dx);
  ConvPlan plan = planConvBackwardData(s);
  Workspace<T> workspace = divide<T>(plan, memory);
  bool small = plan.sharedElements > 0;
  // (tap, f, c), so that consecutive taps are one matrix.
  if (small) {
#pragma omp parallel for num_threads(workspace.threads)
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      for (int64_t f = 0; f < s.f; ++f)
        for (int64_t c = 0; c < s.c; ++c)
          workspace.shared[(tap * s.f + f) * s.c + c] =
              w[(tap * s.c + c) * s.f + f];
  }
  int64_t classes = s.strideH * s.strideW;
  for (int64_t number = 0; number < classes; ++number) {
    int64_t y0 = number / s.strideW, x0 = number % s.strideW;
    Grid grid{ceilDiv(s.h - y0, s.strideH), ceilDiv(s.w - x0, s.strideW)};
    if (y0 >= s.h || x0 >= s.w)
      continue;
    auto meets = [&](int64_t tap) {
      return (y0 + s.padH - tap / s.kw * s.dilationH) % s.strideH == 0 &&
             (x0 + s.padW - tap % s.kw * s.dilationW) % s.strideW == 0;
    };
    int64_t positions = s.n * grid.height * grid.width;
    int64_t tasks = ceilDiv(positions, plan.rows);
#pragma omp parallel for schedule(dynamic) num_threads(workspace.threads)
    for (int64_t task = 0; task < tasks; ++task) {
      int64_t first = task * plan.rows;
      int64_t rows = std::min(plan.rows, positions - first);
      if (s.isPointwise()) {
        multiply(matrix(dy + first * s.f, rows, s.f, s.f),
                 transposed(w, s.f, s.c, s.f),
                 matrix(dx + first * s.c, rows, s.c, s.c), false);
        continue;
      }
      T *block = workspace.slot();
      T *result =
          classes > 1 ? block + plan.rows * plan.taps * s.f : dx + first * s.c;
      Matrix<T> out = matrix(result, rows, s.c, s.c);
      bool any = false;
      int64_t tap = 0;
      while (tap < s.taps()) {
        if (!meets(tap)) {
          ++tap;
          continue;
        }
        // Neighbouring taps that all meet this class make one product.
        int64_t taps = 1;
        while (taps < plan.taps && tap + taps < s.taps() && meets(tap + taps))
          ++taps;
        int64_t depth = taps * s.f;
        T *to = block;
        Position p = grid.at(first);
        for (int64_t r = 0; r < rows; ++r, grid.advance(p)) {
          for (int64_t t = tap; t < tap + taps; ++t, to += s.f) {
            int64_t y = outputOf(y0 + p.y * s.strideH, t / s.kw, s.dilationH,
                                 s.padH, s.strideH, s.oh);
            int64_t x = outputOf(x0 + p.x * s.strideW, t % s.kw, s.dilationW,
                                 s.padW, s.strideW, s.ow);
            put(to,
                y >= 0 && x >= 0 ? dy + ((p.n * s.oh + y) * s.ow + x) * s.f
                                 : nullptr,
                s.f);
          }
        }
        Matrix<T> filters =
            small ? matrix(workspace.shared + tap * s.f * s.c, depth, s.c, s.c)
                  : transposed(w + tap * s.c * s.f, s.f, s.c, s.f);
        multiply(matrix(block, rows, depth, depth), filters, out, any);
        any = true;
        tap += taps;
      }
      if (!any)
        std::memset(result, 0, rows * s.c * sizeof(T));
      if (classes == 1)
        continue;
      Position p = grid.at(first);
      for (int64_t r = 0; r < rows; ++r, grid.advance(p)) {
        int64_t y = y0 + p.y * s.strideH, x = x0 + p.x * s.strideW;
        put(dx + ((p.n * s.h + y) * s.w + x) * s.c, result + r * s.c, s.c);
      }
    }
  }
}

template <typename T>
void backwardFilter(const ConvShape &s, T *x, T *dy, T *dw,
                    const MemRef<int8_t, 1> &memory) {
  if (s.isDirect())
    return depthwiseBackwardFilter(s, x, dy, dw);
  ConvPlan plan = planConvBackwardFilter(s);
  Workspace<T> workspace = divide<T>(plan, memory);
  int64_t positions = s.n * s.oh * s.ow;
  int64_t channelTasks = ceilDiv(s.c, plan.channels);
#pragma omp parallel for schedule(dynamic) num_threads(workspace.threads)
  for (int64_t task = 0; task < plan.tasks; ++task) {
    int64_t tap = task / channelTasks * plan.taps;
    int64_t taps = std::min(plan.taps, s.taps() - tap);
    int64_t c0 = task % channelTasks * plan.channels;
    int64_t channels = std::min(plan.channels, s.c - c0);
    // Several taps in one task have all channels: their gradients are adjacent.
    int64_t depth = taps * channels;
    Matrix<T> out = matrix(dw + (tap * s.c + c0) * s.f, depth, s.f, s.f);
    for (int64_t first = 0; first < positions; first += plan.rows) {
      int64_t rows = std::min(plan.rows, positions - first);
      Matrix<T> ct = matrix(dy + first * s.f, rows, s.f, s.f);
      if (s.isPointwise()) {
        multiply(transposed(x + first * s.c + c0, depth, rows, s.c), ct, out,
                 first != 0);
        continue;
      }
      T *block = workspace.slot();
      gather(s, x, first, rows, tap, taps, c0, channels, block);
      multiply(transposed(block, depth, rows, depth), ct, out, first != 0);
    }
  }
}

constexpr bool kChannelsFirst = false;

} // namespace

// Images (n, h, w, c), filters (kh, kw, c, f); depthwise, (kh, kw, 1, c).
REMAT_CONV(conv_2d, forward, a, b, c)
REMAT_CONV(conv_2d_backward_data, backwardData, c, b, a)
REMAT_CONV(conv_2d_backward_filter, backwardFilter, a, c, b)
