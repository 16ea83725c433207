//===- Snapshots.cpp - Reversal of a loop from few states -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With s snapshots, of which the first is given, and r runs of each iteration,
// as many as C(s + r, s) iterations can be reversed: those before the next
// snapshot with s snapshots and r - 1 runs, those after it with s - 1 and r.
//===----------------------------------------------------------------------===//

#include "remat/Plan/Snapshots.h"

#include <algorithm>

using namespace remat::plan;

namespace {
/// The smallest r with C(slots + r, slots) >= count, and that number for r and
/// for the two before it.
struct Repetitions {
  Repetitions(int64_t count, int64_t slots) {
    for (; reach < count; ++r) {
      before2 = before1;
      before1 = reach;
      reach = reach * (slots + r + 1) / (r + 1);
    }
  }

  int64_t r = 0, reach = 1, before1 = 0, before2 = 0;
};
} // namespace

int64_t remat::plan::getFewestSnapshots(int64_t count, int64_t repetitions) {
  int64_t low = 1, high = std::max<int64_t>(count, 1);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (Repetitions(count, middle).r <= repetitions)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

int64_t remat::plan::getNextSnapshot(int64_t from, int64_t end, int64_t free) {
  int64_t count = end - from;
  if (count <= 1)
    return end;
  if (free <= 0)
    return end - 1;
  int64_t slots = free + 1;
  Repetitions found(count, slots);
  // As far as the snapshots reach, but no further than the iterations before
  // the next one can be reversed in one run less.
  int64_t behind = found.reach * slots / (slots + found.r);
  return from + std::max({int64_t(1), found.before2, count - behind});
}

Snapshot remat::plan::getLastSnapshot(int64_t iteration, int64_t count,
                                      int64_t slots) {
  Snapshot last{0, 0};
  int64_t end = count;
  bool isFirst = iteration == count - 1;
  while (isFirst ? last.iteration != iteration : end != iteration + 1) {
    int64_t next = getNextSnapshot(last.iteration, end, slots - last.slot - 1);
    if (next <= iteration)
      last = {next, last.slot + 1};
    else
      end = next;
  }
  return last;
}
