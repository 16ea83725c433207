//===- SnapshotsTest.cpp - The binomial schedule against a search ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Plan/Snapshots.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

using namespace remat::plan;

namespace {

/// The fewest advances, by trying every place for the next snapshot.
class Search {
public:
  int64_t count(int64_t count, int64_t slots) {
    if (count <= 1)
      return 0;
    if (slots == 1)
      return count * (count - 1) / 2;
    auto [it, isNew] = known.try_emplace({count, slots}, 0);
    if (!isNew)
      return it->second;
    int64_t best = count * (count - 1) / 2;
    for (int64_t next = 1; next < count; ++next)
      best = std::min(best, next + this->count(count - next, slots - 1) +
                                this->count(next, slots));
    return known[{count, slots}] = best;
  }

private:
  std::map<std::pair<int64_t, int64_t>, int64_t> known;
};

/// C(slots + repetitions, slots), in a type that holds it.
double countReversible(int64_t slots, int64_t repetitions) {
  double reach = 1;
  for (int64_t r = 1; r <= repetitions; ++r)
    reach = reach * double(slots + r) / double(r);
  return reach;
}

/// How many iterations are run to have the state in front of each of `count`
/// iterations, by the published formula; those that the backward runs for its
/// own residuals do not count.
int64_t countAdvances(int64_t count, int64_t slots) {
  if (count <= 1)
    return 0;
  slots = std::min(slots, count);
  int64_t r = 1;
  while (countReversible(slots, r) < double(count) - 0.5)
    ++r;
  // C(s + r, s + 1) = C((s + 1) + (r - 1), s + 1).
  return r * count - std::llround(countReversible(slots + 1, r - 1));
}

/// Runs the forward and the backward of a loop as compiled code does. Returns
/// how many iterations were run besides the last one of the forward; checks
/// each state that the backward reads.
int64_t run(int64_t count, int64_t slots) {
  std::vector<int64_t> kept(slots + 1, -1);
  int64_t advances = 0;
  auto advance = [&](int64_t from, int64_t to, int64_t end, int64_t next,
                     int64_t slot) {
    int64_t state = from;
    for (int64_t i = from; i < to; ++i) {
      if (i == next) {
        EXPECT_LE(slot, slots);
        kept[slot] = state;
        next = getNextSnapshot(i, end, slots - slot - 1);
        ++slot;
      }
      ++state;
      ++advances;
    }
    return state;
  };
  advance(0, count, count, 0, 0);
  for (int64_t i = count - 1; i >= 0; --i) {
    Snapshot last = getLastSnapshot(i, count, slots);
    EXPECT_EQ(kept[last.slot], last.iteration);
    EXPECT_LE(last.iteration, i);
    int64_t state =
        advance(last.iteration, i, i + 1,
                getNextSnapshot(last.iteration, i + 1, slots - last.slot - 1),
                last.slot + 1);
    EXPECT_EQ(state, i);
  }
  return advances - 1;
}

TEST(SnapshotsTest, FewestAdvances) {
  Search search;
  for (int64_t count = 1; count <= 60; ++count)
    for (int64_t slots = 1; slots <= count + 2; ++slots)
      EXPECT_EQ(countAdvances(count, slots), search.count(count, slots))
          << count << " iterations, " << slots << " snapshots";
}

TEST(SnapshotsTest, RunsAsCounted) {
  for (int64_t count = 1; count <= 60; ++count)
    for (int64_t slots = 1; slots <= count + 2; ++slots)
      EXPECT_EQ(run(count, slots), countAdvances(count, slots))
          << count << " iterations, " << slots << " snapshots";
}

TEST(SnapshotsTest, PublishedCounts) {
  EXPECT_EQ(run(100, 3), 490);
  EXPECT_EQ(run(100, 10), 222);
  EXPECT_EQ(run(1000, 10), 3636);
  EXPECT_EQ(run(100, 100), 99);
  EXPECT_EQ(run(4096, 64), countAdvances(4096, 64));
}

TEST(SnapshotsTest, FewestSnapshots) {
  for (int64_t count = 2; count <= 300; ++count)
    for (int64_t repetitions = 1; repetitions <= 5; ++repetitions) {
      int64_t slots = getFewestSnapshots(count, repetitions);
      EXPECT_GE(countReversible(slots, repetitions), double(count) - 0.5);
      if (slots > 1) {
        EXPECT_LT(countReversible(slots - 1, repetitions), double(count) - 0.5);
      }
    }
}

} // namespace
