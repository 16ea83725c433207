//===- Selection.h - Which values a region saves ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backward reads some values of a forward that has run. Each is saved, or
// recomputed from what is saved and from values that exist anyway. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLAN_SELECTION_H
#define REMAT_PLAN_SELECTION_H

#include "remat/Plan/Graph.h"

namespace remat::plan {

/// A forward and what is read of it. `graph` has no values in place; values
/// without a producer exist anyway.
struct SelectionProblem {
  Graph graph;
  /// The values that the backward reads, without duplicates.
  std::vector<unsigned> needed;
  /// Of each value: whether it may be saved.
  std::vector<bool> maySave;
};

struct Selection {
  /// The values that are saved, in ascending order, and the sum of their bytes.
  std::vector<unsigned> saved;
  int64_t bytes = 0;
  /// Of the nodes that are recomputed.
  int64_t cost = 0;
};

/// Returns the selection of the fewest bytes, and of those one of the least
/// cost, in which no node of `isExpensive` is recomputed: a minimum cut. What
/// an expensive node computes is saved if the backward needs it, even if
/// `maySave` forbids that.
Selection selectFewestBytes(const SelectionProblem &problem,
                            const std::vector<bool> &isExpensive);

/// Returns a selection of at most `budget` bytes whose cost is low. It is the
/// least one if no more than `kMaxExhaustive` values may be saved that are
/// worth it. Otherwise it starts from a minimum cut for the best price of a
/// byte, whose selection no other one of as many bytes is cheaper than, and
/// fills the rest of the budget by local search. A node that is needed and that
/// nothing allows to save is recomputed, whatever it costs.
Selection selectWithin(const SelectionProblem &problem, int64_t budget);

constexpr unsigned kMaxExhaustive = 14;

} // namespace remat::plan

#endif // REMAT_PLAN_SELECTION_H
