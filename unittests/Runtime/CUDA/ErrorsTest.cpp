//===- ErrorsTest.cpp - One clear line for what goes wrong ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SessionTest.h"

#include "remat/CUDA/EmulatedImage.h"

#include <dlfcn.h>

using namespace remat;
using namespace remat::cuda;

namespace {
struct ErrorsTest : SessionTest {
  template <typename Body> void expectError(Body body, const char *message) {
    EXPECT_EXIT(
        {
          body();
          session().synchronize();
        },
        testing::ExitedWithCode(1), message);
  }
  void expectNoStart(const char *message) {
    setSession(nullptr);
    EXPECT_EXIT(start(), testing::ExitedWithCode(1), message);
  }
};

TEST_F(ErrorsTest, namesKernelAndPlace) {
  expectError(
      [&] {
        launch("add", "pp", {0, 0});
        // The launch is the next call that the flush makes.
        driver.failAt = 1;
        driver.failure = CUDA_ERROR_LAUNCH_FAILED;
      },
      "^remat: error: cuLaunchKernel failed for kernel 'add' at m.mlir:1:2: "
      "CUDA_ERROR_LAUNCH_FAILED: as planned\n$");
}

TEST_F(ErrorsTest, findsTheKernelThatFailsLater) {
  setSession(nullptr);
  setenv("REMAT_CUDA_SYNC", "1", 1);
  start();
  unsetenv("REMAT_CUDA_SYNC");
  CUdeviceptr a = allocate(4);
  expectError(
      [&] {
        launch("add", "pp", {a, a});
        driver.streamResult = CUDA_ERROR_LAUNCH_FAILED;
      },
      "cuStreamSynchronize failed for kernel 'add' at m.mlir:1:2: "
      "CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(ErrorsTest, namesTheMissingKernel) {
  expectError([&] { launch("gone", "", {}); },
              "cuModuleGetFunction failed for kernel 'gone' at m.mlir:1:2: "
              "CUDA_ERROR_NOT_FOUND");
}

TEST_F(ErrorsTest, namesTheChipThatTheProgramLacks) {
  for (CUresult result :
       {CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_IMAGE,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION}) {
    driver.moduleResult = result;
    expectError(
        [&] { remat_cuda_module(&image); },
        "the program has no code for Fake \\(sm_90\\) and a driver for "
        "CUDA 13.0; compile it with chips=sm_90, by a CUDA toolkit that "
        "is no newer than the driver \\(.*: as planned\\)");
  }
}

TEST_F(ErrorsTest, knowsTheChipsWorkgroupMemory) {
  driver.kernels["add"].staticSharedBytes = 1000;
  auto launchWith = [&](int64_t sharedBytes) {
    remat_cuda_launch(&image, "add", "m.mlir:3:4", 1, 1, 1, 32, 1, 1,
                      sharedBytes, 0, "", nullptr);
  };
  launchWith(48000);
  EXPECT_EQ(driver.count("cuFuncSetAttribute"), 0);
  launchWith(50000);
  launchWith(49000);
  EXPECT_EQ(driver.count("cuFuncSetAttribute"), 1);
  expectError([&] { launchWith(204000); },
              "kernel 'add' at m.mlir:3:4 needs 205000 bytes of workgroup "
              "memory, but a block on Fake \\(sm_90\\) has at most 204800");
}

TEST_F(ErrorsTest, refusesSizesThatNoGridHas) {
  expectError([&] { launch("add", "pp", {0, 0}, int64_t(1) << 31); },
              "a size of 2147483648 in a launch for kernel 'add' at "
              "m.mlir:1:2 is not in 0..2\\^31-1");
}

TEST_F(ErrorsTest, refusesUnknownArguments) {
  expectError([&] { launch("add", "pq", {0, 0}); },
              "argument 1 for kernel 'add' at m.mlir:1:2 is of unknown kind "
              "'q'; was the program compiled by another version");
}

TEST_F(ErrorsTest, refusesKernelsForTheEmulatorOnADevice) {
  static const uint64_t emulated = kEmulatedImageMagic;
  expectError([&] { remat_cuda_module(&emulated); },
              "compiled with 'emulate', but the NVIDIA driver is in use");
}

TEST_F(ErrorsTest, findsNoDevice) {
  driver.numDevices = 0;
  expectNoStart("^remat: error: no NVIDIA GPU: the driver finds no device");
}

TEST_F(ErrorsTest, refusesAnOldDriver) {
  driver.version = 11040;
  expectNoStart("^remat: error: the NVIDIA driver is for CUDA 11.4, but 12.0 "
                "or newer is needed");
}

TEST_F(ErrorsTest, saysThatThereIsNoDriver) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
    GTEST_SKIP() << "there is one";
  setSession(nullptr);
  EXPECT_EXIT(session(&image), testing::ExitedWithCode(1),
              "^remat: error: no NVIDIA driver: libcuda.so.1 cannot be loaded "
              "\\(.*\\); compile with 'emulate' to run the kernels on the "
              "host\n$");
}

TEST_F(ErrorsTest, saysThatThereIsNoEmulator) {
  static const uint64_t emulated = kEmulatedImageMagic;
  setSession(nullptr);
  setenv("REMAT_CUDA_EMULATOR", "/nowhere/emulator.so", 1);
  EXPECT_EXIT(session(&emulated), testing::ExitedWithCode(1),
              "^remat: error: the CUDA emulator cannot be loaded "
              "\\(/nowhere/emulator.so: .*\\); it is a tool of the source "
              "build and no part of a wheel: build it with tools/setup, or "
              "name its libremat_cuda_emulator.so in REMAT_CUDA_EMULATOR\n$");
  unsetenv("REMAT_CUDA_EMULATOR");
}

//===----------------------------------------------------------------------===//
// Assertions of the program
//===----------------------------------------------------------------------===//

struct AssertionsTest : ErrorsTest {
  void SetUp() override {
    SessionTest::SetUp();
    isTrue = allocate(1), isFalse = allocate(1), loss = allocate(4);
    uint8_t one = 1;
    remat_cuda_write(toPointer(isTrue), &one, 1);
  }
  void check(CUdeviceptr condition, const char *message = "out of range") {
    remat_cuda_assert(toPointer(condition), message, "m.mlir:7:8");
  }
  CUdeviceptr isTrue, isFalse, loss;
};

TEST_F(AssertionsTest, hold) {
  for (int i = 0; i < 200; ++i) {
    check(isTrue);
    if (session().keepScalar(loss, ScalarKind::f32))
      session().takeScalars();
  }
  session().synchronize();
}

TEST_F(AssertionsTest, failWithMessageAndPlace) {
  expectError([&] { check(isFalse); },
              "^remat: error: m.mlir:7:8: out of range\n$");
}

TEST_F(AssertionsTest, ofAnEarlierStepAreSeen) {
  check(isTrue, "a");
  check(isFalse, "b");
  session().keepScalar(loss, ScalarKind::f32);
  check(isTrue, "c");
  check(isTrue, "d");
  session().keepScalar(loss, ScalarKind::f32);
  EXPECT_EXIT(session().takeScalars(), testing::ExitedWithCode(1),
              "m.mlir:7:8: b\n");
}

TEST_F(AssertionsTest, mayBeMoreThanARowHolds) {
  for (size_t i = 0; i < 3 * ScalarRows::kMaxAssertions + 1; ++i)
    check(isTrue);
  session().synchronize();
  expectError(
      [&] {
        for (size_t i = 0; i < 100 * ScalarRows::kMaxAssertions; ++i)
          check(i == 5000 ? isFalse : isTrue);
      },
      "m.mlir:7:8: out of range");
}

TEST_F(AssertionsTest, areSeenByAReadOutsideOfSteps) {
  EXPECT_EXIT(
      {
        check(isFalse);
        read<float>(loss);
      },
      testing::ExitedWithCode(1), "m.mlir:7:8: out of range");
}
} // namespace
