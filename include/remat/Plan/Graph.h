//===- Graph.h - What a step computes, without IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node is an operation with the values that it computes. A schedule is a
// list of nodes in which a node may occur more than once: its values may be
// dropped and recomputed. Knows no IR.
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

constexpr unsigned kNone = ~0u;

struct Value {
  /// The node that computes it; none of what exists before the first node and
  /// has its memory elsewhere: parameters, states, data.
  unsigned producer = kNone;
  /// At least 0; of a value that is computed in place, 0.
  int64_t bytes = 0;
  /// The value that it is computed in place of: an input of its producer, which
  /// nothing can read afterwards, and whose memory it keeps.
  unsigned inPlaceOf = kNone;
};

struct Node {
  /// Of one run, in any unit; at least 0.
  int64_t cost = 0;
  /// Bytes that are in use only while it runs; at least 0.
  int64_t workspace = 0;
  /// It has effects, or must not be recomputed for another reason.
  bool runsOnce = false;
  /// The values that it reads, without duplicates, and those that it computes.
  std::vector<unsigned> inputs, outputs;
  /// Nodes that have to have run before, although it reads nothing of them.
  std::vector<unsigned> after;
  /// For each output that takes over the memory of an input where that is not
  /// read again: the inputs that it may be, of which it takes the first one
  /// that no other output has.
  std::vector<std::vector<unsigned>> takeOvers;
};

/// Nodes in an order in which each comes after those that it reads: the order
/// that is given, which runs every node once.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Value> values;

  /// Returns the new value. `node` is its producer, unless it is `kNone`.
  unsigned addValue(unsigned node, int64_t bytes, unsigned inPlaceOf = kNone);
};

/// A graph in which each node computes one value, as files have it.
struct EdgeGraph {
  struct Node {
    int64_t cost = 0;
    int64_t bytes = 0;
  };
  std::vector<Node> nodes;
  /// (producer, consumer), in any order, without duplicates.
  std::vector<std::pair<unsigned, unsigned>> edges;
};

/// Returns the error in `graph`, if there is one: edges of nodes that do not
/// exist or against the given order, duplicates, negative figures, sums that
/// overflow.
std::optional<std::string> findError(const EdgeGraph &graph);

/// Returns `graph`, which has no error, with values. They have the numbers of
/// their nodes.
Graph makeGraph(const EdgeGraph &graph);

using Schedule = std::vector<unsigned>;

struct ScheduleFigures {
  /// The most bytes alive at once.
  int64_t peak = 0;
  int64_t cost = 0;
};

/// Returns the figures of `schedule`; none if it reads a value that does not
/// exist yet or no longer, runs a node once too often, or leaves one out whose
/// effects or values count: one that runs once, or that nothing reads.
///
/// A node reads the latest copy of a value. A copy is alive from the run that
/// computes it to the last one that reads it, or what is computed in its place;
/// while a node runs, its inputs and its values are alive together.
std::optional<ScheduleFigures> evaluate(const Graph &graph,
                                        const Schedule &schedule);

/// Returns the given order.
Schedule getGivenOrder(const Graph &graph);

/// Returns the values alive where `schedule`, which is valid, first reaches its
/// peak, but for those that have no memory of their own.
std::vector<unsigned> findAliveAtPeak(const Graph &graph,
                                      const Schedule &schedule);

/// Returns the bytes of each value's memory: its own, or those of the value
/// that it is computed in place of.
std::vector<int64_t> getMemory(const Graph &graph);

/// Returns the bytes that some node needs for its inputs, its values and its
/// workspace, which no schedule can do without. `node`, if given, receives that
/// node.
int64_t getLargestWorkingSet(const Graph &graph, unsigned *node = nullptr);

/// Returns a cost that no schedule of at most `budget` bytes goes below whose
/// first runs come in the given order. While a node runs for the first time,
/// values that are read later are either alive or recomputed afterwards, at
/// their cost: a knapsack for each node, relaxed (Dantzig 1957). None if
/// `budget` is below the largest working set: nothing fits.
std::optional<int64_t> getLowerBoundOfCost(const Graph &graph, int64_t budget);

} // namespace remat::plan

#endif // REMAT_PLAN_GRAPH_H
