//===- ThreadsTest.cpp - Loops that threads share -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace remat;

namespace {

/// How often each iteration ran.
std::vector<int> countRuns(int64_t count, int64_t parts) {
  std::vector<std::atomic<int>> runs(count);
  parallelFor(count, parts, [&](int64_t i) { ++runs[i]; });
  return {runs.begin(), runs.end()};
}

struct ThreadsTest : testing::Test {
  ~ThreadsTest() override { setThreads(threads); }
  const int64_t threads = countThreads();
};

TEST_F(ThreadsTest, runsEachIterationOnce) {
  for (int64_t threads : {1, 2, 3, 8}) {
    setThreads(threads);
    for (int64_t count : {0, 1, 2, 7, 1000, 100000})
      for (int64_t parts : {1, 2, 16, 1 << 20})
        EXPECT_EQ(countRuns(count, parts), std::vector<int>(count, 1))
            << threads << " threads, " << count << " in " << parts;
  }
}

TEST_F(ThreadsTest, takesPartsOfThreadsThatAreLate) {
  setThreads(2);
  // One part does not end before all others have.
  std::atomic<int> done{0};
  parallelFor(64, 64, [&](int64_t i) {
    while (i == 40 && done != 63)
      std::this_thread::yield();
    ++done;
  });
  EXPECT_EQ(done, 64);
}

TEST_F(ThreadsTest, waitsForPartsThatTakeLong) {
  setThreads(2);
  std::atomic<int> done{0};
  parallelFor(2, 2, [&](int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ++done;
  });
  EXPECT_EQ(done, 2);
  // By now the other thread sleeps.
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_EQ(countRuns(100, 10), std::vector<int>(100, 1));
}

TEST_F(ThreadsTest, knowsWhatIsShared) {
  setThreads(2);
  EXPECT_FALSE(isInSharedLoop());
  std::atomic<int> shared{0}, inner{0};
  parallelFor(8, 8, [&](int64_t) {
    shared += isInSharedLoop();
    // A loop inside of a shared loop runs on the thread that calls it.
    std::thread::id self = std::this_thread::get_id();
    parallelFor(16, 16,
                [&](int64_t) { inner += self == std::this_thread::get_id(); });
    shared += isInSharedLoop();
  });
  EXPECT_EQ(shared, 16);
  EXPECT_EQ(inner, 8 * 16);
  EXPECT_FALSE(isInSharedLoop());
}

TEST_F(ThreadsTest, servesSeveralCallers) {
  setThreads(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 500; ++loop)
        parallelFor(50, 50, [&](int64_t i) { sum += i; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 500 * 49 * 50 / 2);
}

std::atomic<int> prepared{0};
thread_local bool isPrepared = false;
[[maybe_unused]] const bool isRegistered = atThreadStart([] {
  isPrepared = true;
  ++prepared;
});

TEST_F(ThreadsTest, preparesEachThread) {
  setThreads(1);
  isPrepared = true; // which nobody starts
  std::atomic<int> missing{0};
  for (int threads : {3, 4}) {
    prepared = 0;
    setThreads(threads);
    // The first loop waits for all of them, whoever runs its parts.
    parallelFor(2, 2, [](int64_t) {});
    EXPECT_EQ(prepared, threads - 1);
    parallelFor(1000, 1000, [&](int64_t) { missing += !isPrepared; });
  }
  EXPECT_EQ(missing, 0);
}

TEST_F(ThreadsTest, hasThreadsOfItsOwnInAChild) {
  setThreads(2);
  countRuns(100, 10);
  pid_t child = fork();
  if (child == 0)
    _exit(countRuns(1000, 100) == std::vector<int>(1000, 1) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

} // namespace
