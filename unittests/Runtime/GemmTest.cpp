//===- GemmTest.cpp - Which bits a product has ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CPU/HostContext.h"
#include "Core/Panels.h"
#include "Threads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace remat;

namespace {

/// A batch of matrices with gaps, row-major or column-major. The buffer ends
/// with the last element.
template <typename T> struct Operand {
  std::vector<T> values;
  MemRef<T, 4> memref;

  Operand(std::mt19937 &random, int64_t batch, int64_t rows, int64_t columns) {
    auto draw = [&](int64_t most) {
      return std::uniform_int_distribution<int64_t>(0, most)(random);
    };
    bool isRowMajor = draw(1);
    int64_t inner = isRowMajor ? columns : rows;
    int64_t outer = isRowMajor ? rows : columns;
    int64_t lead = inner + draw(5), stride = outer * lead + draw(5);
    std::uniform_real_distribution<SumOf<T>> drawValue(-1, 1);
    for (int64_t i = 0; i < (batch - 1) * stride + (outer - 1) * lead + inner;
         ++i)
      values.push_back(T(drawValue(random)));
    values.shrink_to_fit();
    memref = {values.data(),
              values.data(),
              0,
              {1, batch, rows, columns},
              {0, stride, isRowMajor ? lead : 1, isRowMajor ? 1 : lead}};
  }
  int64_t at(int64_t matrix, int64_t row, int64_t column) const {
    return matrix * memref.strides[1] + row * memref.strides[2] +
           column * memref.strides[3];
  }
};

/// docs/bits.md: 512 terms at a time are a chain from zero.
template <typename A, typename B, typename C>
C expected(const Operand<A> &a, const Operand<B> &b, int64_t matrix,
           int64_t row, int64_t column, C before, bool accumulate) {
  using T = SumOf<C>;
  T total = before;
  int64_t terms = a.memref.sizes[3];
  for (int64_t k = 0; k < terms; k += kPanelDepth) {
    T sum = 0;
    for (int64_t i = k; i < std::min(terms, k + kPanelDepth); ++i) {
      T x = a.values[a.at(matrix, row, i)],
        y = b.values[b.at(matrix, i, column)];
      sum = hasAVX2() || hasAVX512() ? std::fma(x, y, sum) : x * y + sum;
    }
    total = k > 0 || accumulate ? total + sum : sum;
  }
  return C(total);
}

template <typename A, typename B = A, typename C = A>
void check(unsigned seed, bool isLarge = false) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  auto drawSize = [&] {
    return isLarge ? draw(250, 400) : draw(0, 3) ? draw(1, 90) : draw(1, 3);
  };
  int64_t batch = isLarge ? 1 : draw(1, 3);
  int64_t rows = drawSize(), columns = drawSize();
  int64_t terms = draw(0, 3) ? drawSize() : draw(500, 1100);
  Operand<A> a(random, batch, rows, terms);
  Operand<B> b(random, batch, terms, columns);
  Operand<C> c(random, batch, rows, columns);
  bool accumulate = draw(0, 1);
  std::vector<C> wanted = c.values;
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        C &element = wanted[c.at(i, row, column)];
        element = expected(a, b, i, row, column, element, accumulate);
      }
  setThreads(draw(1, 3));
  gemm(hostContext(), a.memref, b.memref, c.memref, accumulate);
  // The gaps keep their values as well.
  ASSERT_EQ(c.values, wanted) << "seed " << seed << ": " << batch << " of "
                              << rows << " x " << columns << " x " << terms;
}

/// Small products have all types that there are.
void checkAll(unsigned seed, bool isLarge = false) {
  check<float>(seed, isLarge);
  check<double>(seed, isLarge);
  check<BF16>(seed, isLarge);
  check<float, BF16, float>(seed, isLarge);
  if (isLarge)
    return;
  check<F16>(seed);
  check<BF16, BF16, float>(seed);
  check<F16, F16, float>(seed);
  check<BF16, float, BF16>(seed);
  check<F16, float, float>(seed);
  check<float, F16, F16>(seed);
}

TEST(GemmTest, hasOneOrderInAnyLayout) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "whether this processor fuses is not asked here";
#endif
  for (unsigned seed = 0; seed < 100; ++seed)
    checkAll(seed);
}

TEST(GemmTest, hasOneOrderInSeveralTasksAndPanels) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "whether this processor fuses is not asked here";
#endif
  for (unsigned seed = 0; seed < 4; ++seed)
    checkAll(seed, /*isLarge=*/true);
}

} // namespace
