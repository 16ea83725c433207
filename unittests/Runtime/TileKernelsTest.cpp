//===- TileKernelsTest.cpp - Every kernel that this processor can run -----===//

#include "CPU/TileKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace remat;

namespace {

/// The left operand is a matrix of its own for each segment, the right one has
/// gaps between its rows.
template <typename T> struct Problem {
  static constexpr int64_t kSegments = 3, kDepth = 5, kGap = 3;
  int64_t rows, columns;
  std::vector<T> left, right, before;

  Problem(int64_t rows, int64_t columns) : rows(rows), columns(columns) {
    std::mt19937 random(rows * 100 + columns);
    std::uniform_real_distribution<T> draw(-1, 1);
    auto fill = [&](std::vector<T> &values, int64_t size) {
      for (int64_t i = 0; i < size; ++i)
        values.push_back(draw(random));
    };
    fill(left, kSegments * rows * kDepth);
    // Nothing lies behind the last row.
    fill(right, kSegments * kDepth * (columns + kGap) - kGap);
    fill(before, rows * columns);
  }
  T leftAt(int64_t r, int64_t s, int64_t i) const {
    return left[(s * rows + r) * kDepth + i];
  }
  T expected(int64_t r, int64_t j, bool accumulate, bool isFused) const {
    T sum = 0;
    for (int64_t s = 0; s < kSegments; ++s)
      for (int64_t i = 0; i < kDepth; ++i) {
        T a = leftAt(r, s, i);
        T b = right[(s * kDepth + i) * (columns + kGap) + j];
        volatile T product = a * b;
        sum = isFused ? std::fma(a, b, sum) : product + sum;
      }
    return accumulate ? before[r * columns + j] + sum : sum;
  }
};

template <typename T>
void check(const Problem<T> &problem, typename TileShape<T>::Kernel kernel,
           const std::vector<const T *> &left, int64_t offset, bool accumulate,
           bool isFused) {
  std::vector<T> results = problem.before;
  std::vector<T *> c;
  for (int64_t r = 0; r < problem.rows; ++r)
    c.push_back(results.data() + r * problem.columns);
  kernel(Tile<T>{left.data(), offset, Problem<T>::kSegments, Problem<T>::kDepth,
                 problem.right.data(), problem.columns + Problem<T>::kGap,
                 c.data(), accumulate});
  for (int64_t r = 0; r < problem.rows; ++r)
    for (int64_t j = 0; j < problem.columns; ++j)
      ASSERT_EQ(results[r * problem.columns + j],
                problem.expected(r, j, accumulate, isFused))
          << problem.rows << " rows of " << problem.columns << ", at " << r
          << ", " << j;
}

template <typename T>
void checkAll(void (*add)(TileShapes<T> &), bool isFused) {
  TileShapes<T> shapes;
  add(shapes);
  ASSERT_GT(shapes.count, 0);
  int64_t wider = TileShapes<T>::kMostColumns + 1;
  for (const TileShape<T> &shape : shapes) {
    EXPECT_LT(shape.columns, wider);
    wider = shape.columns;
    for (int64_t rows = 1; rows <= shape.rows; ++rows)
      for (bool accumulate : {false, true}) {
        Problem<T> problem(rows, shape.columns);
        std::vector<const T *> byRows, byDepth;
        for (int64_t s = 0; s < problem.kSegments; ++s)
          for (int64_t r = 0; r < rows; ++r)
            byRows.push_back(problem.left.data() +
                             (s * rows + r) * problem.kDepth);
        check(problem, shape.byRows[rows], byRows, 0, accumulate, isFused);
        // Rows side by side, behind others.
        constexpr int64_t kOffset = 2;
        std::vector<T> columns;
        for (int64_t s = 0; s < problem.kSegments; ++s)
          for (int64_t i = 0; i < problem.kDepth; ++i) {
            columns.insert(columns.end(), kOffset, T(NAN));
            for (int64_t r = 0; r < rows; ++r)
              columns.push_back(problem.leftAt(r, s, i));
          }
        for (int64_t i = 0; i < problem.kSegments * problem.kDepth; ++i)
          byDepth.push_back(columns.data() + i * (rows + kOffset));
        check(problem, shape.byDepth[rows], byDepth, kOffset, accumulate,
              isFused);
      }
  }
}

TEST(TileKernelsTest, anywhere) {
#if defined(__FMA__) || defined(__aarch64__)
  constexpr bool kIsFused = true;
#else
  constexpr bool kIsFused = false;
#endif
  checkAll<float>(addTilesAnywhere, kIsFused);
  checkAll<double>(addTilesAnywhere, kIsFused);
}

#if defined(__x86_64__)
TEST(TileKernelsTest, avx2) {
  if (!hasAVX2())
    GTEST_SKIP() << "this processor has no AVX2";
  checkAll<float>(addTilesAVX2, true);
  checkAll<double>(addTilesAVX2, true);
}

TEST(TileKernelsTest, avx512) {
  if (!hasAVX512())
    GTEST_SKIP() << "this processor has no AVX-512";
  checkAll<float>(addTilesAVX512, true);
  checkAll<double>(addTilesAVX512, true);
}
#endif

} // namespace
