//===- TrainingTest.cpp - A training run on the fake driver ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled @main does, by hand: w += lr(step) * x, loss = w[0], where
// the random state is the program's own.
//===----------------------------------------------------------------------===//

#include "MemRef.h"
#include "SessionTest.h"

#include "remat/Runtime/Training.h"

#include <cmath>

#include <sys/wait.h>
#include <unistd.h>

using namespace remat;
using namespace remat::cuda;

extern "C" {
void _mlir_ciface_remat_rt_train_begin(const MemRef<char, 1> *description);
void _mlir_ciface_remat_rt_train_buffer(MemRef<char, 1> *result, int64_t index);
bool _mlir_ciface_remat_rt_train_needs(int64_t index);
void _mlir_ciface_remat_rt_train_fill(int64_t index, int64_t from);
int64_t _mlir_ciface_remat_rt_train_next();
int64_t _mlir_ciface_remat_rt_train_done_at(int64_t pointer, int64_t kind);
void _mlir_ciface_remat_rt_train_eval_next();
void _mlir_ciface_remat_rt_train_eval_result_at(int64_t index, int64_t pointer,
                                                int64_t kind);
void _mlir_ciface_remat_rt_train_end();
}

namespace {
struct CUDATrainingTest : SessionTest {
  enum Buffer { w, bias, x, random, loss, error, evalX, arena };

  void SetUp() override {
    SessionTest::SetUp();
    ArrayWriter writer(path("data.npz"));
    float rows[6][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}};
    writer.add("x", {DType::f32, {6, 2}}, rows);
    writer.commit();
    setenv("REMAT_LOG", path("log").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("REMAT_LOG");
    // Allocations of a run stay until the process ends.
    setSession(nullptr);
    SessionTest::TearDown();
  }

  std::string describe(int64_t steps, int64_t logEvery, int64_t saveEvery) {
    return "steps\t" + std::to_string(steps) + "\nseed\t7\nlog_every\t" +
           std::to_string(logEvery) + "\ncheckpoint_every\t" +
           std::to_string(saveEvery) + "\ncheckpoint\t" + path("run.npz") +
           "\ndata\t" + path("data.npz") +
           "\noptimizer\topt.sgd\n"
           "argument\tparameter\tf32\t2\tw\tconstant 1\n"
           "argument\tstate\tf32\t\tbias\tprogram\n"
           "argument\tdata\tf32\t1 2\tx\t\n"
           "argument\trandom\ti64\t2\trng\tseed 3\n"
           "argument\tresult\tf32\t\tloss\t\n"
           "argument\tresult\tf32\t\terror\t\n"
           "argument\teval_data\tf32\t1 2\tx\t\n"
           "argument\tarena\ti8\t64\tarena\t\n"
           "metric\terror\n";
  }

  /// `isBad` makes the assertion of a step fail.
  void train(std::string text,
             const std::function<bool(int64_t)> &isBad = nullptr) {
    static float start = 0.5;
    auto view = [](void *data, int64_t size) {
      auto *bytes = static_cast<char *>(data);
      return MemRef<char, 1>{bytes, bytes, 0, {size}, {1}};
    };
    MemRef<char, 1> description = view(text.data(), int64_t(text.size()));
    _mlir_ciface_remat_rt_train_begin(&description);
    std::vector<uint64_t> buffers;
    for (int i = 0; i <= arena; ++i) {
      MemRef<char, 1> buffer;
      _mlir_ciface_remat_rt_train_buffer(&buffer, i);
      buffers.push_back(reinterpret_cast<uint64_t>(buffer.aligned));
    }
    if (_mlir_ciface_remat_rt_train_needs(bias))
      _mlir_ciface_remat_rt_train_fill(bias, reinterpret_cast<int64_t>(&start));
    auto *state = reinterpret_cast<int64_t *>(buffers[random]);
    for (int64_t step; (step = _mlir_ciface_remat_rt_train_next()) >= 0;) {
      for (uint64_t i = 0; i < 2; ++i)
        launch("add", "pp", {buffers[w] + 4 * i, buffers[x] + 4 * i});
      launch("add", "ps", {buffers[bias], bits(float(state[1]))});
      ++state[1];
      launch("set", "pw", {buffers[loss], 0});
      launch("add", "pp", {buffers[loss], buffers[w]});
      launch("add", "pp", {buffers[loss], buffers[bias]});
      uint8_t isGood = !isBad || !isBad(step);
      remat_cuda_write(toPointer(buffers[arena]), &isGood, 1);
      remat_cuda_assert(toPointer(buffers[arena]), "bad index", "m.mlir:5:6");
      int64_t batches =
          _mlir_ciface_remat_rt_train_done_at(int64_t(buffers[loss]), 0);
      for (int64_t i = 0; i < batches; ++i) {
        _mlir_ciface_remat_rt_train_eval_next();
        remat_cuda_copy(toPointer(buffers[error]), toPointer(buffers[evalX]),
                        4);
        _mlir_ciface_remat_rt_train_eval_result_at(0, int64_t(buffers[error]),
                                                   0);
      }
    }
    _mlir_ciface_remat_rt_train_end();
  }

  std::vector<float> savedW() {
    std::vector<float> values(2);
    ArrayFile(path("run.npz")).read("w", values.data());
    return values;
  }
  int64_t savedStep() {
    int64_t step;
    ArrayFile(path("run.npz")).read("remat.step", &step);
    return step;
  }
};

TEST_F(CUDATrainingTest, trainsSavesAndEvaluates) {
  testing::internal::CaptureStdout();
  train(describe(12, 4, 6));
  std::string out = testing::internal::GetCapturedStdout();
  // Two epochs: every row twice; the bias has 0 + 1 + ... + 11.
  EXPECT_EQ(savedW(), (std::vector<float>{1 + 2 * 36, 1 + 2 * 42}));
  EXPECT_EQ(savedStep(), 12);
  EXPECT_NE(out.find("step 12/12  loss 139.5000"), std::string::npos) << out;
  EXPECT_NE(out.find("eval 12/12  error 6\n"), std::string::npos) << out;
  EXPECT_NE(out.find("Fake (sm_90), driver for CUDA 13.0"), std::string::npos)
      << out;
  EXPECT_NE(out.find(" steps, median"), std::string::npos) << out;
  EXPECT_NE(out.find("  launches per step                   6\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(counts().replays, 10);
}

TEST_F(CUDATrainingTest, waitsForTheDeviceOnlyWhereTheHostNeedsTheLoss) {
  auto countWaits = [&](int64_t logEvery) {
    setSession(nullptr);
    start();
    unlink(path("run.npz").c_str());
    driver.calls.clear();
    train(describe(60, logEvery, 60));
    return driver.count("cuStreamSynchronize");
  };
  int64_t rarely = countWaits(60);
  EXPECT_EQ(countWaits(10) - rarely, 5);
}

TEST_F(CUDATrainingTest, logsEveryLossInOrder) {
  train(describe(150, 1, 200));
  std::istringstream log(read("log"));
  int64_t step = 0, expected = 1;
  double loss = 0, last = 0;
  for (; log >> step >> loss; last = loss, ++expected) {
    EXPECT_EQ(step, expected);
    EXPECT_GT(loss, last);
  }
  EXPECT_EQ(expected, 151);
}

TEST_F(CUDATrainingTest, resumesInBits) {
  train(describe(12, 1, 12));
  std::string whole = read("run.npz"), log = read("log");
  unlink(path("run.npz").c_str());
  for (int64_t steps : {5, 12}) {
    setSession(nullptr);
    start();
    train(describe(steps, 1, 12));
  }
  EXPECT_EQ(read("run.npz"), whole);
  EXPECT_EQ(read("log"), log);
}

TEST_F(CUDATrainingTest, graphsDoNotChangeBits) {
  train(describe(12, 1, 12));
  std::string whole = read("run.npz"), log = read("log");
  unlink(path("run.npz").c_str());
  setSession(nullptr);
  setenv("REMAT_CUDA_GRAPHS", "0", 1);
  start();
  unsetenv("REMAT_CUDA_GRAPHS");
  train(describe(12, 1, 12));
  EXPECT_EQ(counts().replays, 0);
  EXPECT_EQ(read("run.npz"), whole);
  EXPECT_EQ(read("log"), log);
}

TEST_F(CUDATrainingTest, warnsOfTheStepWhoseLossIsNotFinite) {
  // The loss of the 8th batch is NaN; step 12 is the first that is logged.
  driver.kernels["set"].run = [n = 0](const FakeLaunch &launch) mutable {
    *FakeDriver::at<float>(launch.arguments[0]) = ++n == 8 ? NAN : 0;
  };
  testing::internal::CaptureStderr();
  std::string text = describe(12, 12, 100);
  text.replace(text.find("checkpoint\t"), 10, "ignored");
  train(text);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "remat: warning: step 8: the loss is nan\n");
}

TEST_F(CUDATrainingTest, checksAssertionsBeforeItSaves) {
  train(describe(4, 0, 2));
  std::string saved = read("run.npz");
  setSession(nullptr);
  start();
  EXPECT_EXIT(train(describe(12, 0, 6), [](int64_t step) { return step == 4; }),
              testing::ExitedWithCode(1),
              "^remat: error: m.mlir:5:6: bad index\n$");
  EXPECT_EQ(read("run.npz"), saved);
}

TEST_F(CUDATrainingTest, aLostDeviceLeavesTheLastCheckpoint) {
  EXPECT_EXIT(train(describe(12, 0, 2),
                    [&](int64_t step) {
                      if (step == 7)
                        driver.streamResult = CUDA_ERROR_LAUNCH_FAILED;
                      return false;
                    }),
              testing::ExitedWithCode(1),
              "^remat: error: cuStreamSynchronize failed: "
              "CUDA_ERROR_LAUNCH_FAILED: as planned \\(in work that was "
              "launched before; REMAT_CUDA_SYNC=1 .*\\)\n$");
  EXPECT_EQ(savedStep(), 6);
}

/// Runs in a child that may exit; returns how.
template <typename Body> int runChild(const char *errors, Body body) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    (void)!freopen("/dev/null", "w", stdout);
    (void)!freopen(errors, "w", stderr);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(CUDATrainingTest, survivesAFaultOfAnyCall) {
  train(describe(4, 2, 4));
  std::vector<float> whole = savedW();
  setSession(nullptr);
  auto runWithFault = [&](int64_t n) {
    unlink(path("run.npz").c_str());
    return runChild(path("errors").c_str(), [&] {
      driver.failAt = n;
      driver.failure = CUDA_ERROR_LAUNCH_FAILED;
      start();
      train(describe(4, 2, 2));
    });
  };
  int64_t n = 1;
  for (; n < 10000; ++n) {
    int status = runWithFault(n);
    ASSERT_TRUE(WIFEXITED(status)) << "call " << n;
    std::string errors = read("errors");
    if (WEXITSTATUS(status) == 0) {
      EXPECT_EQ(errors, "");
      break;
    }
    EXPECT_EQ(errors.rfind("remat: error: cu", 0), 0u) << errors;
    EXPECT_NE(errors.find("CUDA_ERROR_LAUNCH_FAILED: as planned"),
              std::string::npos);
    if (access(path("run.npz").c_str(), F_OK) == 0 && savedStep() == 4)
      EXPECT_EQ(savedW(), whole) << "call " << n;
  }
  EXPECT_GT(n, 80) << "calls are injected";
  EXPECT_EQ(savedW(), whole);
}
} // namespace
