//===- Graph.h - What a step computes, without IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node is an operation with the value that it makes. A schedule is a list of
// nodes in which a node may occur more than once: its value may be dropped and
// recomputed. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLAN_GRAPH_H
#define REMAT_PLAN_GRAPH_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat::plan {

struct GraphNode {
  /// Of one run, in any unit; at least 0.
  int64_t cost = 0;
  /// Of its value; at least 0.
  int64_t bytes = 0;
};

/// Nodes in an order in which each comes after those that it reads: the order
/// that is given, which runs every node once.
struct Graph {
  std::vector<GraphNode> nodes;
  /// (producer, consumer), in any order, without duplicates.
  std::vector<std::pair<unsigned, unsigned>> edges;
};

using Schedule = std::vector<unsigned>;

/// Returns the error in `graph`, if there is one: edges of nodes that do not
/// exist or against the given order, duplicates, negative figures, sums that
/// overflow.
std::optional<std::string> findError(const Graph &graph);

struct ScheduleFigures {
  /// The most bytes alive at once.
  int64_t peak = 0;
  int64_t cost = 0;
};

/// The figures of `schedule`; none if it reads a value that does not exist yet
/// or leaves out a node that no other one reads.
///
/// A node reads the latest copy of a value. A copy is alive from the run that
/// makes it to the last one that reads it; while a node runs, its inputs and
/// its value are alive together.
std::optional<ScheduleFigures> evaluate(const Graph &graph,
                                        const Schedule &schedule);

/// The given order.
Schedule getGivenOrder(const Graph &graph);

/// The bytes that some node needs for its inputs and its value, which no
/// schedule can do without. `node`, if given, receives that node.
int64_t getLargestWorkingSet(const Graph &graph, unsigned *node = nullptr);

/// A cost that no schedule of at most `budget` bytes goes below whose first
/// runs come in the given order. While a node runs for the first time, values
/// that are read later are either alive or recomputed afterwards, at their
/// cost: a knapsack for each node, relaxed (Dantzig 1957). None if `budget` is
/// below the largest working set: nothing fits.
std::optional<int64_t> getLowerBoundOfCost(const Graph &graph, int64_t budget);

} // namespace remat::plan

#endif // REMAT_PLAN_GRAPH_H
