//===- Recompute.h - Schedules that recompute -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values are dropped and recomputed, and in which order everything
// runs, so that a step fits in a number of bytes at the least cost. Knows no
// IR.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLAN_RECOMPUTE_H
#define REMAT_PLAN_RECOMPUTE_H

#include "remat/Plan/Graph.h"

namespace remat::plan {

struct RecomputeOptions {
  /// Bounds the search by the number of nodes and edges that it visits, never
  /// by a clock: the same schedules on every machine. Two threads visit a
  /// billion in about two seconds.
  int64_t maxVisits = 30'000'000'000;
  /// Distance of two budgets that are searched, as a fraction of the peak of
  /// the given order.
  double resolution = 0.005;
  /// No budget below this fraction is searched.
  double smallestFraction = 0.0;
  /// First runs stay in the given order, which was chosen for more than bytes:
  /// neighbors share what is in a cache, or a kernel.
  bool keepsOrder = false;
  uint64_t seed = 1;
};

struct Plan {
  Schedule schedule;
  ScheduleFigures figures;
};

/// Schedules of which none is better than another one in both figures, by
/// falling peak and rising cost. It depends on the graph and the options only,
/// and every budget is answered from it: a looser budget never costs more.
class PlanArchive {
public:
  /// Searches. `graph` has no error.
  PlanArchive(const Graph &graph, const RecomputeOptions &options = {});

  /// The cheapest schedule of at most `budget` bytes; null if none was found.
  const Plan *find(int64_t budget) const;
  /// The plan of the fewest bytes that costs at most `cost`. The given order
  /// does if anything does.
  const Plan *findWithin(int64_t cost) const;
  const std::vector<Plan> &getPlans() const { return plans; }

private:
  std::vector<Plan> plans;
};

} // namespace remat::plan

#endif // REMAT_PLAN_RECOMPUTE_H
