//===- MemoryTest.cpp - Memory of the device, and the way there -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SessionTest.h"

#include "remat/Runtime/Device.h"

#include <numeric>

using namespace remat;
using namespace remat::cuda;

namespace {
using MemoryTest = SessionTest;

TEST_F(MemoryTest, countsWhatTheDriverGave) {
  int64_t before = currentMemory(MemoryClass::parameter);
  void *w = device().allocate(MemoryClass::parameter, 12, "'w'");
  EXPECT_EQ(currentMemory(MemoryClass::parameter) - before, 12);
  size_t sum = 0;
  for (const auto &[pointer, bytes] : driver.allocations)
    sum += bytes;
  EXPECT_EQ(sum, size_t(12 + kRuntimeBytes));
  EXPECT_FALSE(device().isHostMemory(static_cast<char *>(w) + 11));
  EXPECT_TRUE(device().isHostMemory(static_cast<char *>(w) + 12));
  device().release(w);
  EXPECT_EQ(currentMemory(MemoryClass::parameter), before);
}

TEST_F(MemoryTest, theHostsMemoryIsNotTheDevices) {
  int64_t before = peakMemory();
  void *state = device().allocateOnHost(MemoryClass::state, 16);
  EXPECT_EQ(peakMemory(), before);
  EXPECT_TRUE(device().isHostMemory(state));
  EXPECT_EQ(static_cast<int64_t *>(state)[1], 0);
  device().release(state);
}

TEST_F(MemoryTest, hasNothingForNoBytes) {
  EXPECT_EQ(device().allocate(MemoryClass::other, 0, "'w'"), nullptr);
}

TEST_F(MemoryTest, saysWhatIsMissing) {
  device().announce(5000000000);
  device().allocate(MemoryClass::parameter, 1000, "'v'");
  EXPECT_EXIT(
      device().allocate(MemoryClass::arena, size_t(1) << 30, "the arena"),
      testing::ExitedWithCode(1),
      "remat: error: out of memory on the device: the arena takes 1073741824 "
      "bytes, but 107[0-9]+ of 1073741824 are free; the run needs 5000099328 "
      "in all, of which it has 100328\n$");
}

TEST_F(MemoryTest, uploadsWhatTheHostHadThen) {
  // More copies than slots, from a source that changes after each call, without
  // a wait in between.
  std::vector<CUdeviceptr> buffers;
  for (uint32_t i = 0; i < 50; ++i) {
    buffers.push_back(allocate(4));
    uint32_t value = i;
    device().upload(toPointer(buffers.back()), &value, 4);
    value = ~0u;
  }
  for (uint32_t i = 0; i < 50; ++i)
    EXPECT_EQ(read<uint32_t>(buffers[i]), i);
}

TEST_F(MemoryTest, rowsThatFollowEachOtherAreOneCopy) {
  CUdeviceptr batch = allocate(64);
  for (uint64_t i = 0; i < 8; ++i)
    device().upload(toPointer(batch + 8 * i), &i, 8);
  session().flush();
  EXPECT_EQ(driver.count("cuMemcpyHtoDAsync_v2"), 1);
  EXPECT_EQ(read<uint64_t>(batch + 56), 7u);
}

TEST_F(MemoryTest, uploadsMoreThanASlot) {
  std::vector<uint32_t> values(5 << 20);
  std::iota(values.begin(), values.end(), 0);
  size_t bytes = 4 * values.size();
  CUdeviceptr buffer = allocate(bytes);
  device().upload(toPointer(buffer), values.data(), bytes);
  std::vector<uint32_t> back(values.size());
  device().download(back.data(), toPointer(buffer), bytes);
  EXPECT_EQ(back, values);
}

TEST_F(MemoryTest, anUploadFollowsTheCommandsBeforeIt) {
  CUdeviceptr a = allocate(4), b = allocate(4);
  float one = 1, two = 2;
  device().upload(toPointer(a), &one, 4);
  launch("add", "pp", {b, a});
  device().upload(toPointer(a), &two, 4);
  launch("add", "pp", {b, a});
  EXPECT_EQ(read<float>(b), 3);
}

TEST_F(MemoryTest, dataHasASlotForTheNextBatch) {
  int64_t before = currentMemory(MemoryClass::data);
  auto *batch = static_cast<char *>(
      device().allocate(MemoryClass::data, 8, "argument 'x'"));
  EXPECT_EQ(currentMemory(MemoryClass::data) - before, 16);
  CUdeviceptr sum = allocate(4), x = reinterpret_cast<CUdeviceptr>(batch);
  for (float value : {1.0f, 2.0f, 4.0f}) {
    // Rows that follow each other, and rows that do not.
    float rows[] = {value, 8 * value};
    device().upload(batch, rows, 4);
    device().upload(batch + 4, rows + 1, 4);
    device().upload(batch, rows + 1, 4);
    launch("add", "pp", {sum, x});
    launch("add", "pp", {sum, x + 4});
  }
  EXPECT_EQ(read<float>(sum), 7 * 16);
  EXPECT_EQ(driver.count("cuMemcpyHtoDAsync_v2"), 3 * 2);
  EXPECT_EQ(driver.count("cuMemcpyDtoDAsync_v2"), 3 * 2);
  device().release(batch);
  EXPECT_EQ(currentMemory(MemoryClass::data), before);
}

TEST_F(MemoryTest, aConstantIsUploadedOnce) {
  static const float values[] = {1, 2, 3};
  CUdeviceptr sum = allocate(4);
  launch("add", "ps", {sum, bits(1)});
  for (int i = 0; i < 3; ++i) {
    auto *constant = static_cast<char *>(remat_cuda_constant(values, 12));
    launch("add", "pp", {sum, reinterpret_cast<uint64_t>(constant + 8)});
  }
  EXPECT_EQ(read<float>(sum), 10);
  EXPECT_EQ(driver.count("cuMemcpyHtoDAsync_v2"), 2) << "and the step block";
  EXPECT_EQ(currentMemory(MemoryClass::constant), 12);
}

TEST_F(MemoryTest, blocksAreUsedAgain) {
  void *a = remat_cuda_alloc(1000), *b = remat_cuda_alloc(1000);
  EXPECT_NE(a, b);
  // In whatever order they are freed, the next step gets the same addresses.
  remat_cuda_free(a);
  remat_cuda_free(b);
  EXPECT_EQ(remat_cuda_alloc(1000), a);
  EXPECT_EQ(remat_cuda_alloc(1000), b);
  remat_cuda_free(b);
  remat_cuda_free(a);
  EXPECT_EQ(remat_cuda_alloc(990), a);
  EXPECT_NE(remat_cuda_alloc(5000), b);
  EXPECT_EQ(currentMemory(MemoryClass::other), 1024 + 1024 + 5120);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 256, 0u);
}

TEST_F(MemoryTest, aFreedBlockMayStillBeRead) {
  CUdeviceptr sum = allocate(4);
  void *first = remat_cuda_alloc(4);
  launch("set", "pw", {reinterpret_cast<uint64_t>(first), bits(3)});
  launch("add", "pp", {sum, reinterpret_cast<uint64_t>(first)});
  remat_cuda_free(first);
  void *second = remat_cuda_alloc(4);
  EXPECT_EQ(second, first);
  launch("set", "pw", {reinterpret_cast<uint64_t>(second), bits(4)});
  launch("add", "pp", {sum, reinterpret_cast<uint64_t>(second)});
  EXPECT_EQ(read<float>(sum), 7);
}

TEST_F(MemoryTest, freeBlocksGoBackBeforeMemoryIsMissing) {
  CUdeviceptr sum = allocate(4);
  void *block = remat_cuda_alloc(900 << 20);
  launch("set", "pw", {reinterpret_cast<uint64_t>(block), bits(3)});
  launch("add", "pp", {sum, reinterpret_cast<uint64_t>(block)});
  remat_cuda_free(block);
  EXPECT_NE(remat_cuda_alloc(500 << 20), nullptr);
  EXPECT_EQ(read<float>(sum), 3);
}

TEST_F(MemoryTest, refusesToFreeTwice) {
  void *block = remat_cuda_alloc(4);
  remat_cuda_free(block);
  remat_cuda_free(nullptr);
  EXPECT_EXIT(remat_cuda_free(block), testing::ExitedWithCode(1),
              "remat_cuda_free gets a pointer that remat_cuda_alloc did not");
}
} // namespace
