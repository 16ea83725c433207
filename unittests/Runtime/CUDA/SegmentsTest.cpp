//===- SegmentsTest.cpp - Replay what comes again -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SessionTest.h"

#include "remat/Runtime/Device.h"

using namespace remat;
using namespace remat::cuda;

namespace {
struct SegmentsTest : SessionTest {
  void SetUp() override {
    SessionTest::SetUp();
    a = allocate(16);
    b = allocate(16);
  }
  /// sum += value, through the step block.
  void addValue(float value) {
    launch("add", "ps", {a, bits(value)});
    launch("add", "pp", {b, a});
  }
  template <typename Body> void step(Body body) {
    device().beginStep();
    body();
    device().endStep();
  }
  CUdeviceptr a, b;
};

TEST_F(SegmentsTest, runsThenCapturesThenReplays) {
  step([&] { addValue(1); });
  EXPECT_EQ(counts().captures, 0);
  step([&] { addValue(1); });
  EXPECT_EQ(counts().captures, 1);
  EXPECT_EQ(counts().replays, 0);
  for (int i = 0; i < 3; ++i)
    step([&] { addValue(1); });
  EXPECT_EQ(counts().captures, 1);
  EXPECT_EQ(counts().replays, 3);
  EXPECT_EQ(driver.count("cuLaunchKernel"), 4) << "two steps, two kernels";
  EXPECT_EQ(read<float>(a), 5);
  EXPECT_EQ(read<float>(b), 15);
  EXPECT_EQ(counts().launches, 10);
}

TEST_F(SegmentsTest, replaysSeeTheScalarsOfTheirStep) {
  float sum = 0;
  for (int i = 1; i <= 20; ++i, sum += float(i) - 1)
    step([&] { addValue(float(i)); });
  EXPECT_EQ(counts().replays, 18);
  EXPECT_EQ(read<float>(a), sum);
}

TEST_F(SegmentsTest, replaysSeeVectorsOfTheirStep) {
  for (int64_t i = 0; i < 5; ++i) {
    int64_t state[2] = {i, 10 * i};
    step([&] {
      launch("copy16", "pv", {a, reinterpret_cast<uint64_t>(state)});
      remat_cuda_copy(toPointer(b), toPointer(a), 16);
    });
    state[0] = -1;
    EXPECT_EQ(read<int64_t>(b), i);
    EXPECT_EQ(read<int64_t>(b + 8), 10 * i);
  }
  EXPECT_EQ(counts().replays, 3);
}

TEST_F(SegmentsTest, writesOfTheirStepArriveInReplays) {
  for (float i = 0; i < 6; ++i) {
    step([&] {
      remat_cuda_write(toPointer(a), &i, 4);
      launch("add", "pp", {b, a});
    });
  }
  EXPECT_EQ(counts().replays, 4);
  EXPECT_EQ(read<float>(b), 15);
}

TEST_F(SegmentsTest, aReadCutsTheStepInTwo) {
  for (int i = 0; i < 4; ++i)
    step([&] {
      addValue(1);
      EXPECT_EQ(read<float>(a), 2 * i + 1);
      addValue(1);
    });
  EXPECT_EQ(counts().captures, 2);
  EXPECT_EQ(counts().replays, 4);
}

TEST_F(SegmentsTest, anotherAddressIsAnotherList) {
  CUdeviceptr c = allocate(16);
  auto addTo = [&](CUdeviceptr to) {
    step([&] {
      launch("add", "ps", {to, bits(1)});
      launch("add", "ps", {to, bits(1)});
    });
  };
  for (int i = 0; i < 3; ++i)
    addTo(a);
  EXPECT_EQ(counts().replays, 1);
  addTo(c);
  EXPECT_EQ(counts().replays, 1);
  EXPECT_EQ(counts().captures, 1);
  addTo(c);
  EXPECT_EQ(counts().captures, 2);
  addTo(a);
  addTo(c);
  EXPECT_EQ(counts().replays, 3) << "both are remembered";
  EXPECT_EQ(read<float>(a), 8);
  EXPECT_EQ(read<float>(c), 6);
}

TEST_F(SegmentsTest, gridsAndConstantsMatter) {
  auto run = [&](float value, int64_t grid) {
    step([&] {
      launch("set", "pw", {a, bits(value)}, grid);
      launch("add", "pp", {b, a});
    });
  };
  run(1, 1);
  run(2, 1);
  run(1, 2);
  EXPECT_EQ(counts().captures, 0);
  EXPECT_EQ(read<float>(b), 4);
}

TEST_F(SegmentsTest, theUpperHalfOfAWordDoesNotMatter) {
  for (uint64_t i = 0; i < 3; ++i)
    step([&] {
      launch("set", "pw", {a, i << 32 | 7});
      launch("add", "pp", {b, a});
    });
  EXPECT_EQ(counts().replays, 1);
}

TEST_F(SegmentsTest, stopsToCaptureWhatNeverComesAgain) {
  for (uint64_t i = 0; i < 20; ++i)
    step([&] {
      launch("set", "pw", {a, i});
      launch("add", "pp", {b, a});
    });
  EXPECT_EQ(counts().captures, 0);
  for (int i = 0; i < 3; ++i)
    step([&] {
      launch("set", "pw", {a, 100});
      launch("add", "pp", {b, a});
    });
  EXPECT_EQ(counts().captures, 0);
  EXPECT_EQ(read<uint32_t>(a), 100u);
}

TEST_F(SegmentsTest, evaluationsHaveGraphsOfTheirOwn) {
  for (int i = 0; i < 4; ++i) {
    step([&] { addValue(1); });
    device().beginEvaluation();
    addValue(10);
    addValue(10);
    session().flush();
  }
  EXPECT_EQ(counts().captures, 2);
  EXPECT_EQ(counts().replays, 4);
  EXPECT_EQ(counts().launches, 8) << "of steps";
  EXPECT_EQ(read<float>(a), 84);
}

TEST_F(SegmentsTest, nothingIsCapturedOutsideOfSteps) {
  for (int i = 0; i < 4; ++i) {
    addValue(1);
    session().flush();
  }
  EXPECT_EQ(counts().captures, 0);
  EXPECT_EQ(counts().launches, 0);
  EXPECT_EQ(read<float>(a), 4);
}

TEST_F(SegmentsTest, aFullStepBlockCutsTheSegment) {
  int launches = int(kStepBlockBytes / kStepSlotBytes) + 10;
  for (int i = 0; i < 3; ++i)
    step([&] {
      for (int k = 0; k < launches; ++k)
        launch("add", "ps", {a, bits(1)});
    });
  EXPECT_EQ(read<float>(a), 3.0f * float(launches));
  EXPECT_EQ(counts().captures, 2);
}

TEST_F(SegmentsTest, buffersOfEqualShapesDoNotPreventReplays) {
  auto run = [&](int64_t bytes) {
    step([&] {
      void *x = remat_cuda_alloc(bytes), *y = remat_cuda_alloc(bytes);
      launch("set", "pw", {reinterpret_cast<uint64_t>(x), bits(1)});
      remat_cuda_copy(y, x, 4);
      remat_cuda_free(y);
      launch("add", "pp", {a, reinterpret_cast<uint64_t>(y)});
      remat_cuda_free(x);
    });
  };
  for (int i = 0; i < 5; ++i)
    run(1000);
  EXPECT_EQ(counts().replays, 3);
  for (int i = 0; i < 10; ++i)
    run(10000 + 10000 * i);
  EXPECT_EQ(read<float>(a), 15);
}

TEST_F(SegmentsTest, canBeSwitchedOff) {
  setenv("REMAT_CUDA_GRAPHS", "0", 1);
  setSession(nullptr);
  start();
  unsetenv("REMAT_CUDA_GRAPHS");
  a = allocate(16), b = allocate(16);
  for (int i = 0; i < 4; ++i)
    step([&] { addValue(1); });
  EXPECT_EQ(counts().captures, 0);
  EXPECT_EQ(read<float>(a), 4);
}

TEST_F(SegmentsTest, nothingIsLaunchedForAnEmptyGrid) {
  launch("add", "pp", {b, a}, 0);
  session().synchronize();
  EXPECT_EQ(driver.count("cuLaunchKernel"), 0);
}
} // namespace
