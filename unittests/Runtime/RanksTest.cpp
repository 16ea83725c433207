//===- RanksTest.cpp - Collectives on threads -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine of these tests is as late as one may be: a message is read from
// the sender's memory when it is received.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Ranks.h"

#include "Collectives.h"
#include "Core/Narrow.h"
#include "Failure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

using namespace remat;

namespace {

/// Where ranks that are threads meet.
class Exchange {
public:
  explicit Exchange(int64_t size) : size(size), queues(size * size) {}

  std::string run(int64_t rank, const std::vector<Outgoing> &out,
                  const std::vector<Incoming> &in) {
    std::unique_lock<std::mutex> lock(mutex);
    std::string error;
    size_t unread = out.size();
    for (const Outgoing &message : out)
      queues[rank * size + message.rank].push_back(
          {message.data, message.bytes, &unread});
    changed.notify_all();
    for (const Incoming &wanted : in) {
      auto &queue = queues[wanted.rank * size + rank];
      changed.wait(lock, [&] { return !queue.empty() || hasEnded; });
      if (queue.empty())
        return "no message";
      Message message = queue.front();
      queue.erase(queue.begin());
      if (message.bytes != wanted.bytes)
        error = "a message of another size";
      std::memcpy(wanted.data, message.data,
                  std::min(message.bytes, wanted.bytes));
      --*message.unread;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return unread == 0 || hasEnded; });
    return unread == 0 ? error : "a message is not received";
  }

  /// Nobody waits for a rank that has ended too early.
  void end() {
    std::lock_guard<std::mutex> lock(mutex);
    hasEnded = true;
    changed.notify_all();
  }

  const int64_t size;

private:
  struct Message {
    const void *data;
    size_t bytes, *unread;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<Message>> queues;
  bool hasEnded = false;
};

class ThreadRanks final : public Ranks {
public:
  ThreadRanks(Exchange &exchanged, int64_t rank)
      : exchanged(exchanged), own(rank) {}
  int64_t rank() const override { return own; }
  int64_t size() const override { return exchanged.size; }
  std::string exchange(const std::vector<Outgoing> &out,
                       const std::vector<Incoming> &in) override {
    return exchanged.run(own, out, in);
  }
  [[noreturn]] void abort() override { std::abort(); }

private:
  Exchange &exchanged;
  int64_t own;
};

/// Runs `body` on threads that are ranks; returns the failures.
std::vector<std::string>
runRanks(int64_t count,
         const std::function<void(Collectives &, int64_t)> &body) {
  Exchange exchanged(count);
  std::vector<std::string> failures(count);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      failureHandler = [](const std::string &message) { throw message; };
      ThreadRanks engine(exchanged, rank);
      // Small, for many chunks.
      Collectives collectives(engine, /*workspaceBytes=*/4096);
      try {
        body(collectives, rank);
      } catch (const std::string &message) {
        failures[rank] = message;
        exchanged.end();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return failures;
}

using Part = std::vector<float>;

/// Numbers whose sum shows the order of additions.
Part makePart(int64_t number, int64_t count) {
  std::mt19937 random(static_cast<unsigned>(number) * 977 + 1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Part part(count);
  for (float &x : part)
    x = std::ldexp(uniform(random), static_cast<int>(random() % 24));
  return part;
}

/// The definition: level by level.
Part sumByLevels(std::vector<Part> parts) {
  while (parts.size() > 1) {
    std::vector<Part> next;
    for (size_t i = 0; i < parts.size(); i += 2) {
      if (i + 1 < parts.size())
        for (size_t j = 0; j < parts[i].size(); ++j)
          parts[i][j] += parts[i + 1][j];
      next.push_back(parts[i]);
    }
    parts = next;
  }
  return parts[0];
}

const char *bytesOf(const Part &part) {
  return reinterpret_cast<const char *>(part.data());
}

TEST(ReductionTest, addsPairsOfNeighbours) {
  for (int64_t numParts = 1; numParts <= 17; ++numParts)
    for (int64_t count : {0, 1, 511, 512, 513, 70000}) {
      std::vector<Part> parts;
      std::vector<const char *> pointers;
      for (int64_t i = 0; i < numParts; ++i)
        parts.push_back(makePart(i, count));
      for (const Part &part : parts)
        pointers.push_back(bytesOf(part));
      Part sum(count);
      reduceParts(ReductionKind::sum, ScalarKind::f32, pointers,
                  reinterpret_cast<char *>(sum.data()), count);
      EXPECT_EQ(sum, sumByLevels(parts)) << numParts << " x " << count;
    }
}

template <typename T> T combine(ReductionKind kind, ScalarKind type, T a, T b) {
  T result;
  getCombine(kind, type)(&result, &a, &b, 1);
  return result;
}

TEST(ReductionTest, hasTheKindsOfFloats) {
  auto f32 = [](ReductionKind kind, float a, float b) {
    return combine(kind, ScalarKind::f32, a, b);
  };
  EXPECT_EQ(f32(ReductionKind::prod, 3, -2), -6);
  EXPECT_EQ(f32(ReductionKind::maximum, 3, -2), 3);
  EXPECT_EQ(f32(ReductionKind::minimum, 3, -2), -2);
  for (ReductionKind kind : {ReductionKind::maximum, ReductionKind::minimum}) {
    EXPECT_TRUE(std::isnan(f32(kind, NAN, 1)));
    EXPECT_TRUE(std::isnan(f32(kind, 1, NAN)));
  }
  for (ReductionKind kind : {ReductionKind::maxnum, ReductionKind::minnum}) {
    EXPECT_EQ(f32(kind, NAN, 1), 1);
    EXPECT_EQ(f32(kind, 1, NAN), 1);
  }
  EXPECT_FALSE(std::signbit(f32(ReductionKind::maximum, 0.f, -0.f)));
  EXPECT_FALSE(std::signbit(f32(ReductionKind::maximum, -0.f, 0.f)));
  EXPECT_TRUE(std::signbit(f32(ReductionKind::minimum, 0.f, -0.f)));
  EXPECT_TRUE(std::signbit(f32(ReductionKind::minimum, -0.f, 0.f)));
  EXPECT_EQ(getCombine(ReductionKind::bitAnd, ScalarKind::f32), nullptr);
  EXPECT_EQ(combine(ReductionKind::sum, ScalarKind::f64, 0.1, 0.2), 0.1 + 0.2);
}

TEST(ReductionTest, roundsNarrowNumbersAfterEachAddition) {
  // 256 + 1 is 256 in bf16, twice; their exact sum would be 258.
  std::vector<BF16> parts{BF16(256), BF16(1), BF16(0), BF16(1)};
  std::vector<const char *> pointers;
  for (const BF16 &part : parts)
    pointers.push_back(reinterpret_cast<const char *>(&part));
  BF16 sum;
  reduceParts(ReductionKind::sum, ScalarKind::bf16, pointers,
              reinterpret_cast<char *>(&sum), 1);
  EXPECT_EQ(float(sum), 256);
  EXPECT_EQ(float(combine(ReductionKind::sum, ScalarKind::f16, F16(2048.f),
                          F16(1.f))),
            2048);
  EXPECT_EQ(float(combine(ReductionKind::maximum, ScalarKind::f16, F16(-1.f),
                          F16(-2.f))),
            -1);
}

TEST(ReductionTest, hasTheKindsOfIntegers) {
  using I8 = int8_t;
  auto i8 = [](ReductionKind kind, I8 a, I8 b) {
    return combine(kind, ScalarKind::i8, a, b);
  };
  EXPECT_EQ(i8(ReductionKind::sum, 127, 1), -128);
  EXPECT_EQ(i8(ReductionKind::prod, 100, 3), I8(300));
  EXPECT_EQ(i8(ReductionKind::maxs, -1, 1), 1);
  EXPECT_EQ(i8(ReductionKind::mins, -1, 1), -1);
  EXPECT_EQ(i8(ReductionKind::maxu, -1, 1), -1);
  EXPECT_EQ(i8(ReductionKind::minu, -1, 1), 1);
  EXPECT_EQ(i8(ReductionKind::bitAnd, 6, 3), 2);
  EXPECT_EQ(i8(ReductionKind::bitOr, 6, 3), 7);
  EXPECT_EQ(i8(ReductionKind::bitXor, 6, 3), 5);
  EXPECT_EQ(combine<int64_t>(ReductionKind::sum, ScalarKind::i64, INT64_MAX, 1),
            INT64_MIN);
  EXPECT_EQ(combine<int32_t>(ReductionKind::mins, ScalarKind::i32, -5, 3), -5);
  EXPECT_EQ(
      combine<uint16_t>(ReductionKind::prod, ScalarKind::i16, 0xffff, 0xffff),
      1);
  EXPECT_EQ(getCombine(ReductionKind::maximum, ScalarKind::i32), nullptr);
}

TEST(ReductionTest, hasBitsInBytes) {
  auto i1 = [](ReductionKind kind, uint8_t a, uint8_t b) {
    return combine(kind, ScalarKind::i1, a, b);
  };
  // Sums wrap around, and by its sign true is -1.
  EXPECT_EQ(i1(ReductionKind::sum, 1, 1), 0);
  EXPECT_EQ(i1(ReductionKind::prod, 1, 0), 0);
  EXPECT_EQ(i1(ReductionKind::maxs, 1, 0), 0);
  EXPECT_EQ(i1(ReductionKind::mins, 1, 0), 1);
  EXPECT_EQ(i1(ReductionKind::maxu, 1, 0), 1);
  EXPECT_EQ(i1(ReductionKind::minu, 1, 0), 0);
  EXPECT_EQ(i1(ReductionKind::bitXor, 1, 1), 0);
}

TEST(CollectivesTest, addInTheOrderOfParts) {
  for (int64_t ranks : {1, 2, 3, 4})
    for (int64_t numParts : {1, 2, 3})
      for (int64_t count : {0, 1, 7, 500, 6007})
        for (bool inPlace : {false, true}) {
          std::vector<Part> all;
          for (int64_t i = 0; i < ranks * numParts; ++i)
            all.push_back(makePart(i, count));
          Part expected = sumByLevels(all);
          std::vector<std::string> failures =
              runRanks(ranks, [&](Collectives &collectives, int64_t rank) {
                std::vector<Part> mine(all.begin() + rank * numParts,
                                       all.begin() + (rank + 1) * numParts);
                std::vector<const char *> pointers;
                for (const Part &part : mine)
                  pointers.push_back(bytesOf(part));
                Part other(count);
                Part &sum = inPlace ? mine[0] : other;
                collectives.allReduce(
                    ReductionKind::sum, ScalarKind::f32, {1, ranks}, pointers,
                    reinterpret_cast<char *>(sum.data()), count);
                EXPECT_EQ(sum, expected) << ranks << " x " << numParts << " x "
                                         << count << " in place " << inPlace;
              });
          EXPECT_EQ(failures, std::vector<std::string>(ranks));
        }
}

TEST(CollectivesTest, areOfTheRanksAlongAnAxis) {
  // A grid of 2 x 3: rank = 3 * row + column.
  auto failures = runRanks(6, [](Collectives &collectives, int64_t rank) {
    Axis rows{3, 2}, columns{1, 3};
    EXPECT_EQ(collectives.getCoordinate(rows), rank / 3);
    EXPECT_EQ(collectives.getCoordinate(columns), rank % 3);
    int64_t own = int64_t(1) << rank, sum;
    std::vector<const char *> parts{reinterpret_cast<const char *>(&own)};
    collectives.allReduce(ReductionKind::sum, ScalarKind::i64, rows, parts,
                          reinterpret_cast<char *>(&sum), 1);
    EXPECT_EQ(sum, (1 + 8) << rank % 3);
    collectives.allReduce(ReductionKind::sum, ScalarKind::i64, columns, parts,
                          reinterpret_cast<char *>(&sum), 1);
    EXPECT_EQ(sum, (1 + 2 + 4) << rank / 3 * 3);
  });
  EXPECT_EQ(failures, std::vector<std::string>(6));
}

TEST(CollectivesTest, putRowsSideBySide) {
  // Short rows are sent together, long ones arrive where they belong.
  struct Shape {
    int64_t rows, bytes;
  };
  for (int64_t ranks : {1, 2, 3, 4})
    for (Shape shape : {Shape{0, 8},
                        {1, 0},
                        {1, 3},
                        {5, 1},
                        {3000, 700},
                        {1, 3000000},
                        {130, 20000},
                        {5, 700000}}) {
      auto element = [](int64_t rank, int64_t i) {
        return static_cast<char>(i * 31 + i / 251 + rank * 7);
      };
      auto failures =
          runRanks(ranks, [&](Collectives &collectives, int64_t rank) {
            std::string mine, all(shape.rows * shape.bytes * ranks, '?'),
                expected;
            for (int64_t i = 0; i < shape.rows * shape.bytes; ++i)
              mine += element(rank, i);
            collectives.allGather({1, ranks}, shape.rows, shape.bytes,
                                  mine.data(), all.data());
            for (int64_t row = 0; row < shape.rows; ++row)
              for (int64_t from = 0; from < ranks; ++from)
                for (int64_t i = 0; i < shape.bytes; ++i)
                  expected += element(from, row * shape.bytes + i);
            EXPECT_TRUE(all == expected)
                << ranks << ": " << shape.rows << " x " << shape.bytes;
          });
      EXPECT_EQ(failures, std::vector<std::string>(ranks));
    }
}

TEST(CollectivesTest, gatherTexts) {
  auto failures = runRanks(3, [](Collectives &collectives, int64_t rank) {
    std::vector<std::string> expected{"", "x", "xx"};
    EXPECT_EQ(collectives.gatherTexts(expected[rank]), expected);
    collectives.barrier();
    EXPECT_EQ(collectives.gatherTexts(""), std::vector<std::string>(3));
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(CollectivesTest, noticeRanksThatDisagree) {
  auto failures = runRanks(2, [](Collectives &collectives, int64_t rank) {
    Part part(4), sum(4);
    collectives.allReduce(ReductionKind::sum, ScalarKind::f32, {1, 2},
                          {bytesOf(part)}, reinterpret_cast<char *>(sum.data()),
                          3 + rank);
  });
  EXPECT_EQ(failures[0],
            "this rank is at an all_reduce sum of 1 x 3 elements of f32 along "
            "an axis of 2 ranks with stride 1, but rank 1 at an all_reduce sum "
            "of 1 x 4 elements of f32 along an axis of 2 ranks with stride 1; "
            "all ranks must run one program on equal shapes");
  EXPECT_NE(failures[1].find("but rank 0 at"), std::string::npos);
  failures = runRanks(2, [](Collectives &collectives, int64_t rank) {
    char from[8] = {}, into[16];
    if (rank == 0)
      collectives.allGather({1, 2}, 1, 8, from, into);
    else
      collectives.barrier();
  });
  EXPECT_NE(failures[0].find("at an all_gather of 1 rows of 8 bytes"),
            std::string::npos);
  EXPECT_NE(failures[0].find("but rank 1 at a barrier"), std::string::npos);
}

/// The sum of ones over 3 ranks, in a tensor that is large or small.
float addOnes(Collectives &collectives, int64_t count) {
  Part part(count, 1), sum(count);
  collectives.allReduce(ReductionKind::sum, ScalarKind::f32, {1, 3},
                        {bytesOf(part)}, reinterpret_cast<char *>(sum.data()),
                        count);
  return sum[0];
}

/// Returns the failure of `work`, or "".
std::string getFailure(const std::function<void()> &work) {
  try {
    work();
    return "";
  } catch (const std::string &message) {
    return message;
  }
}

TEST(CollectivesTest, leaveAStepOfAHostProgramTogether) {
  // Rank 2 fails as well, or at the end of the step.
  for (bool bothFail : {false, true})
    for (bool atTheEnd : {false, true})
      for (int64_t count : {3, 100000}) {
        auto failures =
            runRanks(3, [&](Collectives &collectives, int64_t rank) {
              collectives.setHosted();
              collectives.beginStep(/*comparesFirst=*/true);
              bool fails = rank == 1 || (bothFail && rank == 2);
              std::string failure = getFailure([&] {
                if (atTheEnd)
                  EXPECT_EQ(addOnes(collectives, count), 3);
                if (fails)
                  throw "no rows on " + std::to_string(rank);
                if (!atTheEnd)
                  addOnes(collectives, count);
                collectives.finishStep();
              });
              EXPECT_EQ(failure, fails ? "no rows on " + std::to_string(rank)
                                       : "rank 1: no rows on 1");
              EXPECT_EQ(collectives.doOthersKnow(), !fails);
              EXPECT_TRUE(collectives.reportFailure(failure));
              // Nothing is left on its way.
              collectives.beginStep(/*comparesFirst=*/false);
              EXPECT_EQ(addOnes(collectives, count), 3);
              collectives.finishStep();
            });
        EXPECT_EQ(failures, std::vector<std::string>(3));
      }
}

TEST(CollectivesTest, compareStepsOfHostProgramsBeforeAnythingIsSent) {
  auto failures = runRanks(3, [](Collectives &collectives, int64_t rank) {
    collectives.setHosted();
    std::string failure =
        getFailure([&] { addOnes(collectives, rank == 2 ? 5 : 3); });
    EXPECT_NE(failure.find("all ranks must run one program"),
              std::string::npos);
    EXPECT_EQ(addOnes(collectives, 3), 3);
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(CollectivesTest, sendTheMemoryOfTheFirstRank) {
  auto failures = runRanks(3, [](Collectives &collectives, int64_t rank) {
    Part part(1000, float(rank + 1));
    collectives.broadcast(reinterpret_cast<char *>(part.data()),
                          part.size() * sizeof(float));
    EXPECT_EQ(part, Part(1000, 1));
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(CollectivesTest, refuseAnAxisThatIsNotOfTheseRanks) {
  auto failures = runRanks(2, [](Collectives &collectives, int64_t) {
    collectives.getCoordinate({1, 4});
  });
  EXPECT_EQ(failures[0],
            "the program has an axis of 4 ranks with stride 1, but there are 2 "
            "ranks; start it with mpirun -n and the size of its grid");
}

} // namespace
