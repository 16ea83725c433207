//===- LossLogTest.cpp - Losses in a file ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LossLog.h"
#include "TemporaryFolder.h"

using namespace remat;

namespace {
using LossLogTest = TemporaryFolder;

TEST_F(LossLogTest, writesEveryLineAtOnce) {
  LossLog log;
  log.open(path("log"), 0);
  log.add(1, 0.5);
  EXPECT_EQ(read("log"), "1\t0.5\n");
  log.add(2, 0.25);
  EXPECT_EQ(read("log"), "1\t0.5\n2\t0.25\n");
}

TEST_F(LossLogTest, keepsWhatPrecedesTheResumedStep) {
  write("log", "1\t0.5\n2\t0.25\n3\t0.125\n");
  LossLog log;
  log.open(path("log"), 2);
  EXPECT_EQ(read("log"), "1\t0.5\n2\t0.25\n") << "before anything is added";
  log.add(3, 7);
  log.close();
  EXPECT_EQ(read("log"), "1\t0.5\n2\t0.25\n3\t7\n");
}

TEST_F(LossLogTest, dropsALineThatWasCut) {
  write("log", "1\t0.5\n2\t0.2");
  LossLog log;
  log.open(path("log"), 2);
  log.add(3, 7);
  EXPECT_EQ(read("log"), "1\t0.5\n3\t7\n");
}

TEST_F(LossLogTest, keepsLongLinesWhole) {
  std::string text = "1\t" + std::string(1000, '5') + "\n2\t0.5\n";
  write("log", text);
  LossLog log;
  log.open(path("log"), 2);
  EXPECT_EQ(read("log"), text);
}

TEST_F(LossLogTest, startsAnewWithTheRun) {
  write("log", "1\t0.5\n");
  LossLog log;
  log.open(path("log"), 0);
  EXPECT_EQ(read("log"), "");
}

TEST_F(LossLogTest, failsOnAFullDisk) {
  EXPECT_EXIT(
      {
        LossLog log;
        log.open("/dev/full", 3);
        log.add(4, 0.5);
      },
      testing::ExitedWithCode(1),
      "/dev/full: cannot be written: No space left on device");
}
} // namespace
