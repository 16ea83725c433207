//===- NarrowTest.cpp - Numbers of two bytes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Core/Narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace remat;

namespace {

/// The value of the bits, by the definition of the format.
double valueOf(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
                     : exponent < 31
                         ? std::ldexp(1024 + mantissa, exponent - 25)
                     : mantissa ? std::numeric_limits<double>::quiet_NaN()
                                : std::numeric_limits<double>::infinity();
  return bits & 0x8000 ? -magnitude : magnitude;
}

F16 fromBits(uint16_t bits) {
  F16 number;
  number.bits = bits;
  return number;
}

TEST(NarrowTest, halvesAreExact) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    float value = fromBits(uint16_t(bits));
    double wanted = valueOf(uint16_t(bits));
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(valueOf(F16(value).bits))) << bits;
      continue;
    }
    EXPECT_EQ(value, wanted) << bits;
    EXPECT_EQ(F16(value).bits, bits);
  }
}

TEST(NarrowTest, halvesAreTheNearestOnes) {
  // Between two neighbours: the nearer one, and the even one in the middle.
  for (int bits = 0; bits < 0x7c00; ++bits) {
    double low = valueOf(uint16_t(bits));
    // The neighbour of the largest one, if there were one.
    double high = bits == 0x7bff ? 65536 : valueOf(uint16_t(bits + 1));
    auto middle = float((low + high) / 2);
    for (float sign : {1.f, -1.f}) {
      auto round = [&](float value) { return F16(sign * value).bits & 0x7fff; };
      EXPECT_EQ(round(middle), bits + bits % 2) << bits;
      EXPECT_EQ(round(std::nextafter(middle, 0.f)), bits);
      EXPECT_EQ(round(std::nextafter(middle, INFINITY)), bits + 1);
    }
  }
  EXPECT_EQ(F16(1e30f).bits, 0x7c00);
  EXPECT_EQ(F16(-INFINITY).bits, 0xfc00);
  EXPECT_EQ(F16(1e-30f).bits, 0);
}

} // namespace
