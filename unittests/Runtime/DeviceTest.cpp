//===- DeviceTest.cpp - The device that is the host -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Runtime/Device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

using namespace remat;

namespace {
template <typename T> double convert(ScalarKind kind, T value) {
  EXPECT_EQ(byteWidth(kind), sizeof(T));
  return toDouble(kind, &value);
}

TEST(ScalarTest, isReadAsItsType) {
  EXPECT_EQ(convert(ScalarKind::f32, 0.1f), double(0.1f));
  EXPECT_EQ(convert(ScalarKind::f64, 0.1), 0.1);
  EXPECT_EQ(convert(ScalarKind::i1, uint8_t(1)), 1);
  EXPECT_EQ(convert(ScalarKind::i8, int8_t(-7)), -7);
  EXPECT_EQ(convert(ScalarKind::i16, int16_t(-700)), -700);
  EXPECT_EQ(convert(ScalarKind::i32, int32_t(-70000)), -70000);
  EXPECT_EQ(convert(ScalarKind::i64, int64_t(1) << 40), 0x1p40);
}

TEST(ScalarTest, hasSixteenBits) {
  EXPECT_EQ(convert(ScalarKind::bf16, uint16_t(0xbfc0)), -1.5);
  EXPECT_TRUE(std::isnan(convert(ScalarKind::bf16, uint16_t(0x7fc0))));
  EXPECT_EQ(convert(ScalarKind::f16, uint16_t(0xbe00)), -1.5);
  EXPECT_EQ(convert(ScalarKind::f16, uint16_t(0x7bff)), 65504);
  EXPECT_EQ(convert(ScalarKind::f16, uint16_t(0x0001)), 0x1p-24);
  EXPECT_EQ(convert(ScalarKind::f16, uint16_t(0xfc00)), -INFINITY);
  EXPECT_TRUE(std::isnan(convert(ScalarKind::f16, uint16_t(0x7e00))));
}

TEST(CPUDeviceTest, viewsAreTheBufferItself) {
  void *buffer = device().allocate(MemoryClass::state, 12, "'s'");
  HostView view(buffer, 12, HostView::overwrite);
  EXPECT_EQ(view.data(), buffer);
  view.commit();
  device().release(buffer);
}

TEST(CPUDeviceTest, countsBytesByClass) {
  int64_t before = currentMemory(MemoryClass::data);
  void *buffer = device().allocateOnHost(MemoryClass::data, 12);
  EXPECT_EQ(currentMemory(MemoryClass::data) - before, 12);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 64, 0u);
  device().release(buffer);
  EXPECT_EQ(currentMemory(MemoryClass::data), before);
}

#ifdef __linux__
/// Returns true if the system was asked for large pages around `address`.
bool wantsLargePages(const void *address) {
  std::ifstream maps("/proc/self/smaps");
  auto wanted = reinterpret_cast<uintptr_t>(address);
  bool isInside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      isInside = begin <= wanted && wanted < end;
    else if (isInside && line.rfind("VmFlags:", 0) == 0)
      return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST(CPUDeviceTest, largeBuffersAreInLargePages) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "the system has none";
  size_t bytes = size_t(9) << 20;
  auto *buffer = static_cast<char *>(
      device().allocate(MemoryClass::arena, bytes, "the arena"));
  EXPECT_TRUE(wantsLargePages(buffer + bytes / 2));
  EXPECT_EQ(std::count(buffer, buffer + bytes, 0), ptrdiff_t(bytes));
  device().release(buffer);
}
#endif

TEST(CPUDeviceTest, zeroesMemoryThatWasUsedBefore) {
  for (int i = 0; i < 2; ++i) {
    auto *buffer =
        static_cast<char *>(device().allocate(MemoryClass::state, 1000, "'s'"));
    EXPECT_EQ(std::count(buffer, buffer + 1000, 0), 1000);
    std::fill(buffer, buffer + 1000, char(1));
    device().release(buffer);
  }
}

TEST(CPUDeviceTest, keepsScalarsInOrder) {
  for (float value : {1.0f, 2.0f, 3.0f})
    EXPECT_TRUE(device().keepScalar(&value, ScalarKind::f32));
  EXPECT_EQ(device().takeScalars(), (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(device().takeScalars().empty());
}
} // namespace
