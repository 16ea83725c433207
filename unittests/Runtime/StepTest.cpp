//===- StepTest.cpp - Failures of a step in a host program ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Runtime/Step.h"

#include "MemRef.h"
#include "remat/Runtime/Runtime.h"

#include "gtest/gtest.h"
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

using namespace remat;

REMAT_EXPORT void _mlir_ciface_remat_rt_fail(const MemRef<char, 1> *message);
REMAT_EXPORT void _mlir_ciface_remat_rt_begin_writes();
REMAT_EXPORT void _mlir_ciface_remat_rt_step_buffer(MemRef<char, 1> *result,
                                                    int64_t buffers,
                                                    int64_t index);

static int reached = 0;
static bool hasWritten = false;

/// Fails as a compiled assertion does.
static void failFromProgram() {
  char text[] = "not in range";
  MemRef<char, 1> message{text, text, 0, {sizeof(text) - 1}, {1}};
  _mlir_ciface_remat_rt_fail(&message);
}

/// The message of a step that runs `function`, or "" without one.
static std::string run(RematStepFunction function, void *const *buffers) {
  reached = 0;
  std::unique_ptr<char, decltype(&std::free)> message(
      remat_rt_run_step(function, buffers, 7, &hasWritten), std::free);
  return message ? message.get() : "";
}

TEST(Step, PassesBuffersAndNumber) {
  double value = 0;
  void *buffers[] = {nullptr, &value};
  auto write = [](int64_t buffers, int64_t step) {
    MemRef<char, 1> buffer;
    _mlir_ciface_remat_rt_step_buffer(&buffer, buffers, 1);
    *reinterpret_cast<double *>(buffer.data()) = static_cast<double>(step);
  };
  EXPECT_EQ(run(write, buffers), "");
  EXPECT_EQ(value, 7);
}

TEST(Step, IsLeftWhereItFails) {
  auto step = [](int64_t, int64_t) {
    reached = 1;
    failFromProgram();
    reached = 2;
  };
  EXPECT_EQ(run(step, nullptr), "not in range");
  EXPECT_EQ(reached, 1);
  EXPECT_FALSE(hasWritten);
  EXPECT_EQ(run([](int64_t, int64_t) { reached = 3; }, nullptr), "");
  EXPECT_EQ(reached, 3);
}

TEST(Step, SaysWhetherItHadBegunToWrite) {
  auto step = [](int64_t, int64_t) {
    _mlir_ciface_remat_rt_begin_writes();
    failFromProgram();
  };
  EXPECT_EQ(run(step, nullptr), "not in range");
  EXPECT_TRUE(hasWritten);
  auto next = [](int64_t, int64_t) { failFromProgram(); };
  EXPECT_EQ(run(next, nullptr), "not in range");
  EXPECT_FALSE(hasWritten);
}

TEST(Step, IsLeftWhereTheRuntimeFails) {
  auto step = [](int64_t, int64_t) { fail("no memory"); };
  EXPECT_EQ(run(step, nullptr), "no memory");
}

TEST(Step, RunsToItsEndWhereAnotherThreadFails) {
  auto step = [](int64_t, int64_t) {
    std::thread(failFromProgram).join();
    reached = 2;
  };
  EXPECT_EQ(run(step, nullptr), "not in range");
  EXPECT_EQ(reached, 2);
  EXPECT_TRUE(hasWritten);
  EXPECT_EQ(run([](int64_t, int64_t) {}, nullptr), "");
}

TEST(StepDeathTest, OutsideOfAStepAFailureEndsTheProgram) {
  EXPECT_EXIT(failFromProgram(), testing::ExitedWithCode(1),
              "remat: error: not in range");
}
