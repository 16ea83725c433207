//===- Snapshots.h - Reversal of a loop from few states ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward of a loop needs the state in front of each iteration, the last
// one first. A snapshot is such a state that is kept; others are recomputed
// from the snapshot before them. The binomial schedule (A. Griewank,
// A. Walther, "Algorithm 799: revolve", ACM TOMS 26, 2000) does so with the
// fewest iterations for a number of snapshots: for `count` iterations and
// `slots` snapshots r * count - C(slots + r, slots + 1), with the smallest r
// such that count <= C(slots + r, slots).
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLAN_SNAPSHOTS_H
#define REMAT_PLAN_SNAPSHOTS_H

#include <cstdint>

namespace remat::plan {

/// Returns the smallest number of snapshots with which no iteration is run more
/// than `repetitions` times (1 or more) for `count` iterations.
int64_t getFewestSnapshots(int64_t count, int64_t repetitions);

/// Returns the iteration in front of which the next snapshot is taken on the
/// way from `from`, which is one, to the end of the iterations before `end`,
/// if `free` more fit. The last one of the way is always taken, even if none
/// fits; `end` means that there is none left.
int64_t getNextSnapshot(int64_t from, int64_t end, int64_t free);

/// A snapshot: the iteration in front of which it is, and the slot it is in.
struct Snapshot {
  int64_t iteration, slot;
};

/// Returns the last snapshot that there is when the backward comes to
/// `iteration` of a loop of `count` iterations.
Snapshot getLastSnapshot(int64_t iteration, int64_t count, int64_t slots);

} // namespace remat::plan

#endif // REMAT_PLAN_SNAPSHOTS_H
