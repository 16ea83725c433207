//===- BFloat16Test.cpp - Rounding to bf16 --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BFloat16.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace remat;

namespace {

TEST(BFloat16Test, NumbersStay) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits)
    if (!std::isnan(fromBF16(uint16_t(bits))))
      EXPECT_EQ(toBF16(fromBF16(uint16_t(bits))), bits);
}

TEST(BFloat16Test, RoundsToNearestTiesToEven) {
  EXPECT_EQ(toBF16(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(toBF16(1 + 0x1p-8f + 0x1p-23f), 0x3f81);
  EXPECT_EQ(toBF16(1 + 0x1p-7f + 0x1p-8f), 0x3f82);
  EXPECT_EQ(toBF16(-1 - 0x1p-7f - 0x1p-8f), 0xbf82);
  EXPECT_EQ(toBF16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(BFloat16Test, NaNsStay) {
  // One whose bits are all in the part that goes, and one that would carry.
  for (uint32_t bits : {0x7f800001u, 0xffffffffu}) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    EXPECT_TRUE(std::isnan(fromBF16(toBF16(value))));
  }
}

} // namespace
