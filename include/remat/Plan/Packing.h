//===- Packing.h - Offsets for buffers in one arena -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic storage allocation: every buffer has a lifetime and a size, and two
// buffers that live at the same time must not overlap in the arena. Knows no
// IR.
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLAN_PACKING_H
#define REMAT_PLAN_PACKING_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remat::plan {

/// A buffer that lives in the half-open interval [lower, upper) of time steps.
/// One that is never alive (lower >= upper) or has no bytes gets offset 0.
struct Interval {
  int64_t lower;
  int64_t upper;
  /// In bytes.
  int64_t size;
  /// Of the offset, in bytes; any positive number.
  int64_t alignment = 1;
};

struct PackingOptions {
  /// Bounds each of three local searches, in visits of pairs of overlapping
  /// buffers, so that the time grows with the number of buffers and not with
  /// the machine.
  int64_t maxVisits = 60'000'000;
  /// Rounds of local search without improvement before it gives up, the first
  /// time; sixteen times as many later, with as many visits each.
  int64_t patience = 600;
  /// A height that is low enough; 0: only the lower bound is.
  int64_t capacity = 0;
  /// Bounds the exhaustive search, in nodes of its tree, for a packing into the
  /// lower bound, or into `capacity`.
  int64_t maxNodes = 20'000;
  uint64_t seed = 1;
};

struct Packing {
  /// One per interval, in the order of the input.
  std::vector<int64_t> offsets;
  /// Largest offset + size.
  int64_t height = 0;
  /// No packing is lower.
  int64_t lowerBound = 0;
};

/// The largest sum of sizes that are live at one time: no packing is lower.
/// `when`, if given, receives the first time at which it is reached.
int64_t getMaxLive(const std::vector<Interval> &intervals,
                   int64_t *when = nullptr);

/// A packing of low height. NP-hard in general (Garey and Johnson, SR2), so:
/// first fit and best fit in several orders (size, area, lifetime, start, and
/// size within the busiest section, after TelaMalloc, ASPLOS 2023), then a
/// local search that moves the buffers on top of the arena forward in the
/// order: from the best few, from these for longer, and on from where the first
/// ended; then branch and bound (MiniMalloc, ASPLOS 2023), which may also prove
/// that the lower bound cannot be met. Stops when it is. Deterministic: depends
/// on the input and the options only.
Packing pack(const std::vector<Interval> &intervals,
             const PackingOptions &options = {});

/// Returns true if `packing` separates buffers that are live together, respects
/// alignments and states its height. Quadratic: for tests and assertions.
bool isValidPacking(const std::vector<Interval> &intervals,
                    const Packing &packing);

} // namespace remat::plan

#endif // REMAT_PLAN_PACKING_H
