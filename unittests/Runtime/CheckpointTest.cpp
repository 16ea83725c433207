//===- CheckpointTest.cpp - A run in a file -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Checkpoint.h"
#include "TemporaryFolder.h"

#include <cmath>

using namespace remat;

namespace {
struct CheckpointTest : TemporaryFolder {
  CheckpointTest() {
    description.seed = 7;
    description.optimizer = "opt.adam";
    description.arguments = {
        {Role::parameter, {DType::f32, {2}}, "w", std::nullopt},
        {Role::data, {DType::f32, {2}}, "x", std::nullopt}};
  }
  void SetUp() override {
    TemporaryFolder::SetUp();
    description.checkpoint = path("run");
  }

  Checkpoint make() { return Checkpoint(description, buffers, batchSize); }
  void saveAt(int64_t step) {
    make().save(step, 0.5);
    w[0] = w[1] = 0;
  }

  TrainDescription description;
  float w[2] = {1, 2}, x[2] = {3, 4};
  std::vector<char *> buffers = {reinterpret_cast<char *>(w),
                                 reinterpret_cast<char *>(x)};
  int64_t batchSize = 2;
};

TEST_F(CheckpointTest, comesBack) {
  EXPECT_EQ(make().load(), std::nullopt);
  saveAt(5);
  EXPECT_EQ(make().load(), 5);
  EXPECT_EQ(w[0], 1);
  EXPECT_EQ(w[1], 2);
}

TEST_F(CheckpointTest, refusesAnotherRun) {
  saveAt(5);
  auto expectRefusal = [&](const char *message) {
    EXPECT_EXIT(make().load(), testing::ExitedWithCode(1), message);
  };
  description.seed = 8;
  expectRefusal("has seed 7, this one has 8; use the same seed, or another");
  description.seed = 7;
  description.optimizer = "opt.adamw";
  expectRefusal("has optimizer opt.adam, this one has opt.adamw; use the same");
  description.optimizer = "opt.adam";
  batchSize = 4;
  expectRefusal("has batch size 2, this one has 4; use the same batch size");
  batchSize = 2;
  description.shuffle = false;
  expectRefusal("has shuffle 1, this one has 0; use the same shuffle");
}

TEST_F(CheckpointTest, refusesImpossibleSteps) {
  for (int64_t step : {int64_t(-5), -(int64_t(1) << 62)}) {
    saveAt(step);
    EXPECT_EXIT(make().load(), testing::ExitedWithCode(1),
                "'remat.step' must be at least 0, but got -");
  }
}

TEST_F(CheckpointTest, takesOneThatRecordsLess) {
  int64_t step = 3;
  ArrayWriter writer(description.checkpoint);
  writer.add("remat.step", {DType::i64, {}}, &step);
  writer.add("remat.seed", {DType::i64, {}}, &description.seed);
  writer.add("w", {DType::f32, {2}}, w);
  writer.commit();
  EXPECT_EQ(make().load(), 3);
}

TEST_F(CheckpointTest, keepsTheLastFiniteOne) {
  Checkpoint checkpoint = make();
  checkpoint.save(5, 0.5);
  std::string saved = read("run");
  EXPECT_EXIT(checkpoint.save(6, NAN), testing::ExitedWithCode(1),
              "step 6: the loss is nan; .*run is left as it was at step 5");
  w[1] = NAN;
  EXPECT_EXIT(checkpoint.save(6, 0.5), testing::ExitedWithCode(1),
              "step 6: parameter 'w' holds NaN; .*run is left as it was");
  EXPECT_EQ(read("run"), saved);
}

TEST_F(CheckpointTest, looksAtItsFolderBeforeItTrains) {
  description.checkpoint = path("no/such/run");
  EXPECT_EXIT(make(), testing::ExitedWithCode(1),
              "cannot be written: No such file or directory");
}
} // namespace
