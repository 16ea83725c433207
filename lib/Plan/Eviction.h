//===- Eviction.h - A first schedule within a budget ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLAN_EVICTION_H
#define REMAT_LIB_PLAN_EVICTION_H

#include "remat/Plan/Graph.h"

namespace remat::plan {

/// A schedule of at most `budget` bytes whose first runs are in the given
/// order; none where this way does not lead to one. Takes time proportional to
/// the nodes that it runs, which are at most eight times those of the graph.
std::optional<Schedule> evictAndRecompute(const Graph &graph, int64_t budget,
                                          uint64_t seed);

} // namespace remat::plan

#endif // REMAT_LIB_PLAN_EVICTION_H
