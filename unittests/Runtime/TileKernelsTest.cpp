//===- TileKernelsTest.cpp - Every kernel that this processor can run -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Core/TileKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace remat;

namespace {

/// Segments of both operands lie apart and in any order; rows of the right one
/// have gaps between them.
template <typename T> struct Problem {
  static constexpr int64_t kSegments = 3, kDepth = 5, kGap = 3;
  int64_t rows, columns, rightStride = columns + kGap;
  std::vector<T> left, right, before;

  Problem(int64_t rows, int64_t columns) : rows(rows), columns(columns) {
    std::mt19937 random(rows * 100 + columns);
    std::uniform_real_distribution<T> draw(-1, 1);
    auto fill = [&](std::vector<T> &values, int64_t size) {
      for (int64_t i = 0; i < size; ++i)
        values.push_back(draw(random));
    };
    fill(left, kSegments * rows * kDepth);
    // The buffer ends with the last row, without a gap.
    fill(right, kSegments * kDepth * rightStride - kGap);
    fill(before, rows * columns);
  }
  T leftAt(int64_t r, int64_t s, int64_t i) const {
    return left[(s * rows + r) * kDepth + i];
  }
  const T *rightSegment(int64_t s) const {
    return right.data() + (kSegments - 1 - s) * kDepth * rightStride;
  }
  T expected(int64_t r, int64_t j, bool accumulate, bool isFused) const {
    T sum = 0;
    for (int64_t s = 0; s < kSegments; ++s)
      for (int64_t i = 0; i < kDepth; ++i) {
        T a = leftAt(r, s, i), b = rightSegment(s)[i * rightStride + j];
        volatile T product = a * b;
        sum = isFused ? std::fma(a, b, sum) : product + sum;
      }
    return accumulate ? before[r * columns + j] + sum : sum;
  }
};

/// `segments` of the sum, of which the left operand is at `left`.
template <typename T>
void check(const Problem<T> &problem, typename TileShape<T>::Kernel kernel,
           const std::vector<const T *> &left,
           const std::vector<int64_t> &offsets, int64_t leftStride,
           bool accumulate, bool isFused) {
  std::vector<T> results = problem.before;
  std::vector<T *> c;
  for (int64_t r = 0; r < problem.rows; ++r)
    c.push_back(results.data() + r * problem.columns);
  std::vector<const T *> right;
  for (int64_t s = 0; s < problem.kSegments; ++s)
    right.push_back(problem.rightSegment(s));
  kernel(Tile<T>{left.data(), offsets.data(), leftStride, right.data(),
                 problem.rightStride, problem.kSegments, problem.kDepth,
                 c.data(), accumulate});
  for (int64_t r = 0; r < problem.rows; ++r)
    for (int64_t j = 0; j < problem.columns; ++j)
      ASSERT_EQ(results[r * problem.columns + j],
                problem.expected(r, j, accumulate, isFused))
          << problem.rows << " rows of " << problem.columns << ", at " << r
          << ", " << j;
}

/// A sum without terms is zero.
template <typename T>
void checkEmpty(const Problem<T> &problem,
                typename TileShape<T>::Kernel kernel) {
  std::vector<T> results = problem.before;
  std::vector<T *> c;
  for (int64_t r = 0; r < problem.rows; ++r)
    c.push_back(results.data() + r * problem.columns);
  std::vector<int64_t> offsets(problem.rows);
  kernel(Tile<T>{nullptr, offsets.data(), 1, nullptr, problem.rightStride, 0,
                 problem.kDepth, c.data(), /*accumulate=*/false});
  EXPECT_EQ(results, std::vector<T>(results.size(), T(0)));
}

template <typename T> void checkAll(const TileShapes<T> &shapes, bool isFused) {
  ASSERT_GT(shapes.count, 0);
  ASSERT_LE(shapes.count, TileShapes<T>::kMost);
  int64_t wider = TileShapes<T>::kMostColumns + 1;
  for (const TileShape<T> &shape : shapes) {
    EXPECT_LT(shape.columns, wider);
    wider = shape.columns;
    for (int64_t rows = 1; rows <= shape.rows; ++rows) {
      Problem<T> problem(rows, shape.columns);
      checkEmpty(problem, shape.kernels[rows]);
      constexpr int64_t kSegments = Problem<T>::kSegments,
                        kDepth = Problem<T>::kDepth;
      // Terms side by side, the last row first.
      std::vector<const T *> left;
      std::vector<T> lines;
      std::vector<int64_t> offsets;
      for (int64_t s = 0; s < kSegments; ++s)
        for (int64_t r = rows; r-- > 0;)
          for (int64_t i = 0; i < kDepth; ++i)
            lines.push_back(problem.leftAt(r, s, i));
      for (int64_t s = 0; s < kSegments; ++s)
        left.push_back(lines.data() + s * rows * kDepth);
      for (int64_t r = 0; r < rows; ++r)
        offsets.push_back((rows - 1 - r) * kDepth);
      for (bool accumulate : {false, true})
        check(problem, shape.kernels[rows], left, offsets, 1, accumulate,
              isFused);
      // Rows side by side, after other columns.
      constexpr int64_t kOffset = 2;
      lines.clear();
      for (int64_t s = 0; s < kSegments; ++s)
        for (int64_t i = 0; i < kDepth; ++i) {
          lines.insert(lines.end(), kOffset, T(NAN));
          for (int64_t r = 0; r < rows; ++r)
            lines.push_back(problem.leftAt(r, s, i));
        }
      for (int64_t s = 0; s < kSegments; ++s)
        left[s] = lines.data() + s * kDepth * (rows + kOffset);
      for (int64_t r = 0; r < rows; ++r)
        offsets[r] = kOffset + r;
      for (bool accumulate : {false, true})
        check(problem, shape.kernels[rows], left, offsets, rows + kOffset,
              accumulate, isFused);
    }
  }
}

TEST(TileKernelsTest, anywhere) {
#if defined(__FMA__) || defined(__aarch64__)
  constexpr bool kIsFused = true;
#else
  constexpr bool kIsFused = false;
#endif
  checkAll<float>(tilesAnywhere<float>(), kIsFused);
  checkAll<double>(tilesAnywhere<double>(), kIsFused);
}

#if defined(__x86_64__)
TEST(TileKernelsTest, avx2) {
  if (!hasAVX2())
    GTEST_SKIP() << "this processor has no AVX2";
  checkAll<float>(tilesAVX2<float>(), true);
  checkAll<double>(tilesAVX2<double>(), true);
}

TEST(TileKernelsTest, avx512) {
  if (!hasAVX512())
    GTEST_SKIP() << "this processor has no AVX-512";
  checkAll<float>(tilesAVX512<float>(), true);
  checkAll<double>(tilesAVX512<double>(), true);
}
#endif

} // namespace
