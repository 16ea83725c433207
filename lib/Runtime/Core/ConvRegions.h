//===- ConvRegions.h - Which taps meet which positions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position at the border of an image meets some of a filter's taps only.
// Positions that meet the same ones are a region: all of its sums have the same
// terms, and none of these is a multiplication by a zero outside of the image.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_CONVREGIONS_H
#define REMAT_RUNTIME_CORE_CONVREGIONS_H

#include "ConvCall.h"
#include "Panels.h"

namespace remat {

/// How results along one dimension read an input: `positions` of them, `stride`
/// apart in `inputs`, through filter positions. Number i of these is position
/// first + i * step, and it reads the input shift + i * shiftStep further on
/// than without a shift.
struct TapAxis {
  int64_t count, first, step, shift, shiftStep;
  int64_t positions, stride, inputs;

  /// All taps of a convolution.
  static TapAxis forward(const ConvAxis &axis) {
    return {axis.taps,    0,           1,          -axis.pad, axis.dilation,
            axis.outputs, axis.stride, axis.inputs};
  }
  /// Those through which input positions residue, residue + stride, ... meet
  /// outputs. Together they read consecutive ones.
  static TapAxis backward(const ConvAxis &axis, int64_t residue) {
    int64_t positions = ceilDiv(axis.inputs - residue, axis.stride);
    int64_t step = axis.stride / std::gcd(axis.stride, axis.dilation);
    int64_t first = 0, end = std::min(axis.taps, step);
    auto shift = [&] { return residue + axis.pad - first * axis.dilation; };
    while (first < end && shift() % axis.stride != 0)
      ++first;
    if (first >= end)
      return {0, 0, 1, 0, 1, positions, 1, axis.outputs};
    return {(axis.taps - 1 - first) / step + 1,
            first,
            step,
            shift() / axis.stride,
            -step * axis.dilation / axis.stride,
            positions,
            1,
            axis.outputs};
  }
};

/// All positions of an axis that read the input through a tap.
inline std::pair<int64_t, int64_t> findReaders(const TapAxis &axis,
                                               int64_t shift) {
  return findReaders(shift, axis.stride, axis.inputs, 0, axis.positions);
}

/// A filter position: what it reads lies `z` slices, `y` rows and `x` columns
/// further; `number` is its place in the filter.
struct Tap {
  int64_t z, y, x, number;
};

/// Those of all dimensions, slice by slice and row by row.
struct TapGrid {
  TapAxis z, y, x;
  /// Of the filter.
  int64_t height, width;

  static TapGrid forward(const ConvShape &s) {
    return {TapAxis::forward(s.z), TapAxis::forward(s.y), TapAxis::forward(s.x),
            s.y.taps, s.x.taps};
  }
  static TapGrid backward(const ConvShape &s, int64_t z0, int64_t y0,
                          int64_t x0) {
    return {TapAxis::backward(s.z, z0), TapAxis::backward(s.y, y0),
            TapAxis::backward(s.x, x0), s.y.taps, s.x.taps};
  }
  int64_t count() const { return z.count * y.count * x.count; }
  Tap operator[](int64_t index) const {
    int64_t row = index / x.count, j = index % x.count;
    int64_t k = row / y.count, i = row % y.count;
    return {z.shift + k * z.shiftStep, y.shift + i * y.shiftStep,
            x.shift + j * x.shiftStep,
            ((z.first + k * z.step) * height + y.first + i * y.step) * width +
                x.first + j * x.step};
  }

  /// Rows of one image's results.
  int64_t rows() const { return z.positions * y.positions; }
  /// Where one of all images' rows lies, these after each other.
  struct Row {
    int64_t image, z, y;
  };
  Row findRow(int64_t row) const {
    int64_t slice = row / y.positions;
    return {slice / z.positions, slice % z.positions, row % y.positions};
  }
};

/// Positions [begin, end) of one dimension meet taps [firstTap, firstTap +
/// taps) of an axis.
struct AxisRegion {
  int64_t begin, end, firstTap, taps;
  int64_t size() const { return end - begin; }
  bool has(int64_t position) const {
    return position >= begin && position < end;
  }
};

/// Taps [first, end) that position `i` meets.
inline std::pair<int64_t, int64_t> tapsAt(const TapAxis &axis, int64_t i) {
  int64_t step = std::abs(axis.shiftStep);
  // From what tap number 0 reads to both ends of the input, in the direction
  // in which taps go.
  int64_t at = i * axis.stride + axis.shift, last = axis.inputs - 1;
  int64_t ahead = axis.shiftStep > 0 ? last - at : at;
  int64_t behind = axis.shiftStep > 0 ? -at : at - last;
  int64_t first = std::min(axis.count, behind > 0 ? ceilDiv(behind, step) : 0);
  int64_t end = ahead < 0 ? 0 : std::min(axis.count, ahead / step + 1);
  return {first, std::max(first, end)};
}

/// Calls `visit` for the regions of an axis, which follow each other: from one
/// position to the next, taps only leave or only enter at either end.
template <typename Visit> void forEachRegion(const TapAxis &axis, Visit visit) {
  for (int64_t begin = 0, end; begin < axis.positions; begin = end) {
    auto taps = tapsAt(axis, begin);
    end = begin + 1;
    for (int64_t other = axis.positions; end < other;) {
      int64_t middle = end + (other - end) / 2;
      if (tapsAt(axis, middle) == taps)
        end = middle + 1;
      else
        other = middle;
    }
    visit(AxisRegion{begin, end, taps.first, taps.second - taps.first});
  }
}

/// The segments of a tile's sum (TileKernels.h): pairs of runs of terms.
template <typename T> struct Segments {
  int64_t count = 0, depth = 0;
  int64_t leftStride = 1, rightStride = 1;
  const T *left[kPanelDepth], *right[kPanelDepth];

  void start(int64_t newDepth) {
    count = 0;
    depth = newDepth;
  }
  void add(const T *leftRun, const T *rightRun) {
    left[count] = leftRun;
    right[count++] = rightRun;
  }
  /// Makes one of as many as continue each other in memory, for a kernel with
  /// fewer and longer loops over the same terms.
  void merge() {
    int64_t together = 1;
    while (together < count && continues(together))
      ++together;
    if (together == 1 || count % together != 0)
      return;
    for (int64_t i = together; i < count; ++i)
      if (i % together != 0 && !continues(i))
        return;
    count /= together;
    depth *= together;
    for (int64_t i = 0; i < count; ++i) {
      left[i] = left[i * together];
      right[i] = right[i * together];
    }
  }

  Tile<T> tile(const int64_t *offsets, T *const *to, bool accumulate) const {
    return {left,  offsets, leftStride, right,     rightStride,
            count, depth,   to,         accumulate};
  }

private:
  bool continues(int64_t i) const {
    return left[i] - left[i - 1] == depth * leftStride &&
           right[i] - right[i - 1] == depth * rightStride;
  }
};

} // namespace remat

#endif // REMAT_RUNTIME_CORE_CONVREGIONS_H
